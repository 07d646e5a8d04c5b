//! Disks whose locks are kept on one machine only: two machines would charge the same ledger at
//! once, and each would overwrite what the other recorded.
//!
//! Linux says in `/proc/self/mountinfo` what kind of disk a file is on, and with which options it
//! was mounted. Other systems do not, and docs/ledger.md asks for locks there.

use std::path::Path;

/// File systems that pass no lock on to the machine whose files they show.
const WITHOUT_LOCKS: [&str; 8] =
    ["davfs", "fuse.davfs2", "fuse.gcsfuse", "fuse.goofys", "fuse.mount-s3", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"];

/// Those that do, unless they are mounted with one of these options.
const UNLESS: [(&str, &[&str]); 5] = [
    ("nfs", &["nolock", "local_lock=all", "local_lock=posix"]),
    ("nfs4", &["nolock", "local_lock=all", "local_lock=posix"]),
    ("cifs", &["nobrl"]),
    ("smb3", &["nobrl"]),
    ("lustre", &["localflock"]),
];

/// The kind of disk that a file is on, if its locks hold on this machine only.
pub(crate) fn kept_here_only(file: &Path) -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    without_shared_locks(&mounts, file.to_str()?)
}

/// The same, of a list of mounts as Linux writes it.
fn without_shared_locks(mounts: &str, file: &str) -> Option<String> {
    let (_, kind, options) = mounts.lines().filter_map(mount).filter(|(place, ..)| is_under(file, place)).fold(
        None,
        // A later mount at the same place hides the earlier one.
        |longest: Option<(String, &str, &str)>, next| match longest {
            Some(longest) if longest.0.len() > next.0.len() => Some(longest),
            _ => Some(next),
        },
    )?;
    let unless = UNLESS.iter().find(|(known, _)| *known == kind).map_or(&[][..], |(_, unless)| unless);
    let is_local = WITHOUT_LOCKS.contains(&kind) || options.split(',').any(|option| unless.contains(&option));
    is_local.then(|| kind.to_owned())
}

/// Where something is mounted, its kind, and the options of the file system.
fn mount(line: &str) -> Option<(String, &str, &str)> {
    let (place, file_system) = line.split_once(" - ")?;
    // Characters that would end a word are written as octal numbers, the backslash last of all.
    let written = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    let place =
        written.iter().fold(place.split(' ').nth(4)?.to_owned(), |place, (code, text)| place.replace(code, text));
    let mut words = file_system.split(' ');
    let kind = words.next()?;
    Some((place, kind, words.nth(1)?))
}

fn is_under(file: &str, place: &str) -> bool {
    place == "/" || file.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
40 22 0:40 / /srv rw,relatime - nfs4 server:/srv rw,vers=4.2,hard,local_lock=none,addr=10.0.0.2
41 22 0:41 / /old rw,relatime shared:7 master:2 - nfs server:/old rw,vers=3,nolock,local_lock=all
42 22 0:42 / /win rw - cifs //server/win rw,vers=3.1.1,nobrl
43 22 0:43 / /win/locked rw - cifs //server/win rw,vers=3.1.1
44 22 0:44 / /my\\040remote rw,nosuid - fuse.sshfs me@server:/ rw,user_id=0
45 22 0:45 / /twice rw - fuse.sshfs me@server:/ rw
46 22 8:2 / /twice rw - ext4 /dev/sdb1 rw
";

    #[test]
    fn locks_that_other_machines_do_not_see_are_known_by_the_mount() {
        for (file, found) in [
            ("/home/budget.db", None),
            ("/srv/budget.db", None),
            ("/old/deep/in/budget.db", Some("nfs")),
            ("/older/budget.db", None),
            ("/win/budget.db", Some("cifs")),
            ("/win/locked/budget.db", None),
            ("/my remote/budget.db", Some("fuse.sshfs")),
            ("/twice/budget.db", None),
        ] {
            assert_eq!(without_shared_locks(MOUNTS, file).as_deref(), found, "{file}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_disk_of_this_machine_is_not_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(kept_here_only(&folder.path().join("budget.db")), None);
    }
}
