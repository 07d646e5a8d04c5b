#include <R_ext/Utils.h>
#include <Rinternals.h>

/* R reports an interrupt by a jump, which must not cross a function of Rust: it ends here. */
static void check(void *unused) {
    (void)unused;
    R_CheckUserInterrupt();
}

int dplm_is_interrupted(void) {
    return R_ToplevelExec(check, NULL) == FALSE;
}
