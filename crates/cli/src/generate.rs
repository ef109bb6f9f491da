//! `planaria generate DIR`: what a package has beside the binary, and only the binary knows: manual pages, and completions for
//! shells. Hidden: `contrib/package.sh` calls it.

use clap::{Args, Command};
use clap_complete::Shell;
use planaria::{Error, Result};
use std::path::{Path, PathBuf};

/// Options of `planaria generate`.
#[derive(Args)]
pub struct Options {
    /// Directory to write to, made if it is not there
    dir: PathBuf,
}

/// Writes `man/*.1`, and `completions/` with a file for each of bash, zsh and fish.
pub fn generate(options: &Options, command: Command) -> Result<()> {
    let (man, completions) = (options.dir.join("man"), options.dir.join("completions"));
    for dir in [&man, &completions] {
        std::fs::create_dir_all(dir).map_err(|e| Error::file("create directory", dir, e))?;
    }
    let mut command = command.disable_help_subcommand(true);
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command, "planaria", &completions)
            .map_err(|e| Error::file("write to directory", &completions, e))?;
    }
    command.build();
    pages(&command, &man)
}

/// The page of a command, and those of what it has below it.
fn pages(command: &Command, to: &Path) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).replace(' ', "-");
    let file = to.join(format!("{name}.1"));
    let mut page = Vec::new();
    let write = |page: &mut Vec<u8>| {
        clap_mangen::Man::new(command.clone()).date("").manual("Planaria").render(page)?;
        std::fs::write(&file, page)
    };
    write(&mut page).map_err(|e| Error::file("write file", &file, e))?;
    command.get_subcommands().filter(|c| !c.is_hide_set()).try_for_each(|c| pages(c, to))
}
