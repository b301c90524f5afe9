//! For how long a CPU quota of a control group held this process back.

use std::fs;
use std::path::{Path, PathBuf};

/// The files in which the groups that this process is in, and those above, keep their account.
#[derive(Debug, Default)]
pub(super) struct QuotaMeter {
    accounts: Vec<PathBuf>,
}

/// Where control groups are mounted by convention (file-hierarchy(7)); the second is where a
/// version 2 hierarchy stands beside those of version 1.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

impl QuotaMeter {
    pub(super) fn of_this_process() -> Self {
        let memberships = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let accounts = accounts(&memberships);
        Self { accounts: accounts.into_iter().filter(|path| path.is_file()).collect() }
    }

    /// Time for which each group was throttled so far, in nanoseconds, summed over its CPUs.
    pub(super) fn read(&self) -> Vec<u64> {
        let read = |path: &PathBuf| fs::read_to_string(path).ok();
        self.accounts.iter().map(|path| read(path).map_or(0, |text| throttled_ns(&text))).collect()
    }
}

/// The accounts of the groups in a `/proc/PID/cgroup`, and of all above them.
fn accounts(memberships: &str) -> Vec<PathBuf> {
    let mut accounts = Vec::new();
    for line in memberships.lines() {
        // hierarchy:controllers:path, see cgroups(7).
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let roots = if controllers.is_empty() {
            MOUNTS.map(PathBuf::from).to_vec()
        } else if controllers.split(',').any(|each| each == "cpu") {
            vec![Path::new(MOUNTS[0]).join(controllers), Path::new(MOUNTS[0]).join("cpu")]
        } else {
            continue;
        };
        for root in roots {
            for group in Path::new(path.trim_start_matches('/')).ancestors() {
                let account = root.join(group).join("cpu.stat");
                if !accounts.contains(&account) {
                    accounts.push(account);
                }
            }
        }
    }
    accounts
}

/// `throttled_usec` of version 2, `throttled_time` (in nanoseconds) of version 1.
fn throttled_ns(account: &str) -> u64 {
    let figure = |name: &str| {
        let lines = account.lines().filter_map(|line| line.split_once(' '));
        lines.filter(|line| line.0 == name).find_map(|line| line.1.trim().parse::<u64>().ok())
    };
    let from_microseconds = figure("throttled_usec").map(|time| time * 1000);
    from_microseconds.or_else(|| figure("throttled_time")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_above_count_too() {
        let found = accounts("0::/user/a.slice\n");
        let expected = ["user/a.slice/cpu.stat", "user/cpu.stat", "cpu.stat"];
        let below = |root: &str| expected.map(|path| Path::new(root).join(path)).to_vec();
        assert_eq!(found, [below(MOUNTS[0]), below(MOUNTS[1])].concat());
    }

    #[test]
    fn in_version_1_it_is_the_hierarchy_of_the_cpu() {
        let found = accounts("3:memory:/m\n2:cpu,cpuacct:/x\n1:cpuset:/\n");
        let expected = ["cpu,cpuacct/x", "cpu,cpuacct", "cpu/x", "cpu"];
        let expected = expected.map(|path| Path::new(MOUNTS[0]).join(path).join("cpu.stat"));
        assert_eq!(found, expected);
        assert!(accounts("garbage\n1:cpuset:/\n").is_empty());
    }

    #[test]
    fn both_versions_tell_the_time() {
        let two = "usage_usec 9\nnr_periods 4\nnr_throttled 3\nthrottled_usec 125000\n";
        assert_eq!(throttled_ns(two), 125_000_000);
        let one = "nr_periods 4\nnr_throttled 3\nthrottled_time 125000000\n";
        assert_eq!(throttled_ns(one), 125_000_000);
        assert_eq!(throttled_ns("usage_usec 9\n"), 0);
    }
}
