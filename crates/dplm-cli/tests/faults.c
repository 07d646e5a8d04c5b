/* A disk, a clock, locks and a random generator that fail as real ones do: loaded before the
 * program by LD_PRELOAD, it watches what the program does to the files of one folder.
 *
 * DPLM_FAULTS_FOLDER  the folder; nothing else is touched or counted
 * DPLM_FAULTS_LOG     a file that gets one line for each event, in the order of events:
 *                       N NAME=FILE ...       the names in the folder, where they changed
 *                       W FILE PLACE BYTES    bytes (in hex) were written
 *                       T FILE LENGTH         a file was cut or made longer
 *                       S FILE, D             a file, or the folder, was synced
 *                       A                     something was printed
 *                       R BYTES               the system was asked for this many random bytes
 * DPLM_FAULT          one of
 *                       kill:N                the process is killed at its N-th operation on the folder
 *                       error:N               the N-th operation fails
 *                       full:N                from the N-th operation on, nothing can be written
 *                       short:N               the N-th operation writes half of the bytes
 *                       clock:SECONDS         the clock is wrong by these seconds
 *                       locks                 the file system has no locks
 *                       random                the system gives no key: no 32 random bytes at once
 *                                             (Rust's hash maps ask for 16, and end the program without)
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char names[1 << 16];
static long count;

static const char *fault(const char *kind) {
    const char *said = getenv("DPLM_FAULT");
    size_t length = strlen(kind);
    if (!said || strncmp(said, kind, length)) return NULL;
    return said[length] == ':' ? said + length + 1 : said[length] ? NULL : "";
}

static long number_of(const char *kind) {
    const char *said = fault(kind);
    return said ? atol(said) : 0;
}

static void say(const char *text, size_t length) {
    const char *path = getenv("DPLM_FAULTS_LOG");
    if (!path) return;
    int log = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0) return;
    syscall(SYS_write, log, text, length);
    syscall(SYS_close, log);
}

static void say_line(const char *form, ...) {
    char line[256];
    va_list list;
    va_start(list, form);
    int length = vsnprintf(line, sizeof line, form, list);
    va_end(list);
    say(line, length);
}

/* The folder's names, if they are others than before. */
static void say_names(void) {
    const char *folder = getenv("DPLM_FAULTS_FOLDER");
    static char now[sizeof names];
    size_t used = 0;
    DIR *open = folder ? opendir(folder) : NULL;
    if (!open) return;
    for (struct dirent *one; (one = readdir(open)) && used + 300 < sizeof now;)
        if (strcmp(one->d_name, ".") && strcmp(one->d_name, ".."))
            used += sprintf(now + used, " %s=%lu", one->d_name, (unsigned long)one->d_ino);
    closedir(open);
    now[used] = 0;
    if (!strcmp(now, names)) return;
    strcpy(names, now);
    say("N", 1);
    say(now, used);
    say("\n", 1);
}

static int is_in_folder(const char *path) {
    const char *folder = getenv("DPLM_FAULTS_FOLDER");
    size_t length = folder ? strlen(folder) : 0;
    return length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

/* Whether the descriptor is the folder or a file in it. */
static int is_watched(int file, struct stat *found) {
    char link[64], path[PATH_MAX];
    sprintf(link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_in_folder(path) && !fstat(file, found);
}

enum { GO_ON, FAIL, SHORTEN };

/* Counts an operation; what is to happen to it. */
static int meet(int writes) {
    count++;
    say_names();
    if (count == number_of("kill")) syscall(SYS_kill, getpid(), SIGKILL);
    if (count == number_of("error")) return errno = EIO, FAIL;
    if (writes && number_of("full") && count >= number_of("full")) return errno = ENOSPC, FAIL;
    return writes && count == number_of("short") ? SHORTEN : GO_ON;
}

static void said_bytes(unsigned long file, long place, const unsigned char *bytes, size_t length) {
    char *line = malloc(2 * length + 80);
    size_t used = sprintf(line, "W %lu %ld ", file, place);
    for (size_t i = 0; i < length; i++) used += sprintf(line + used, "%02x", bytes[i]);
    line[used++] = '\n';
    say(line, used);
    free(line);
}

static ssize_t written(int file, const void *bytes, size_t length, long place) {
    struct stat found;
    int old = errno;
    if (file == 1) say_line("A\n");
    if (!is_watched(file, &found)) {
        errno = old;
        return place < 0 ? syscall(SYS_write, file, bytes, length)
                         : syscall(SYS_pwrite64, file, bytes, length, place);
    }
    pthread_mutex_lock(&lock);
    int met = meet(1);
    if (met == SHORTEN) length = (length + 1) / 2;
    long at = place < 0 ? lseek(file, 0, SEEK_CUR) : place;
    ssize_t done = -1;
    if (met != FAIL) {
        done = place < 0 ? syscall(SYS_write, file, bytes, length)
                         : syscall(SYS_pwrite64, file, bytes, length, place);
        if (done > 0) said_bytes(found.st_ino, at, bytes, done);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t write(int file, const void *bytes, size_t length) { return written(file, bytes, length, -1); }
ssize_t pwrite(int file, const void *bytes, size_t length, off_t place) { return written(file, bytes, length, place); }
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t place) {
    return written(file, bytes, length, place);
}

static int cut(int file, long length) {
    struct stat found;
    if (!is_watched(file, &found)) return syscall(SYS_ftruncate, file, length);
    pthread_mutex_lock(&lock);
    int done = meet(length > found.st_size) == FAIL ? -1 : syscall(SYS_ftruncate, file, length);
    if (!done) say_line("T %lu %ld\n", (unsigned long)found.st_ino, length);
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate(int file, off_t length) { return cut(file, length); }
int ftruncate64(int file, off64_t length) { return cut(file, length); }

static int synced(int file, int call) {
    struct stat found;
    if (!is_watched(file, &found)) return syscall(call, file);
    pthread_mutex_lock(&lock);
    int done = meet(0) == FAIL ? -1 : syscall(call, file);
    if (!done && S_ISDIR(found.st_mode)) say_line("D\n");
    else if (!done) say_line("S %lu\n", (unsigned long)found.st_ino);
    pthread_mutex_unlock(&lock);
    return done;
}

int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }

int unlink(const char *path) {
    if (!is_in_folder(path)) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    pthread_mutex_lock(&lock);
    int done = meet(0) == FAIL ? -1 : syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    say_names();
    pthread_mutex_unlock(&lock);
    return done;
}

static int locks_fail(int command) {
    int is_lock = command == F_SETLK || command == F_SETLKW || command == F_GETLK;
    return is_lock && fault("locks") ? (errno = EOPNOTSUPP, 1) : 0;
}

#define FCNTL(name)                                                                                \
    int name(int file, int command, ...) {                                                         \
        va_list list;                                                                              \
        va_start(list, command);                                                                   \
        void *argument = va_arg(list, void *);                                                     \
        va_end(list);                                                                              \
        return locks_fail(command) ? -1 : syscall(SYS_fcntl, file, command, argument);             \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

int clock_gettime(clockid_t clock, struct timespec *now) {
    int done = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += number_of("clock");
    return done;
}

ssize_t getrandom(void *bytes, size_t length, unsigned flags) {
    say_line("R %zu\n", length);
    if (length == 32 && fault("random")) return errno = EIO, -1;
    return syscall(SYS_getrandom, bytes, length, flags);
}
