# A bar that says how far a fit is.

# What hears how far the work is (`tell`), and what takes a bar away at the end (`close`).
progress_of <- function(progress) {
  if (is.function(progress)) return(list(tell = progress, close = function() NULL))
  # A log that nobody watches stays as it is.
  if (!isTRUE(progress) || !(interactive() || isatty(stderr()))) return(list(tell = NULL, close = function() NULL))
  bar <- bar()
  # An interrupt waits until the native half asks for it, which then says what was spent.
  list(tell = function(stage, done, total) suspendInterrupts(bar$tell(stage, done, total)), close = bar$close)
}

bar <- function(patience = 1, width = 40) {
  started <- proc.time()[["elapsed"]]
  drawn <- 0
  draw <- function(line) {
    cat("\r", formatC(line, width = -drawn), sep = "", file = stderr())
    drawn <<- nchar(line)
  }
  tell <- function(stage, done, total) {
    # What is done sooner needs no bar.
    if (proc.time()[["elapsed"]] - started < patience || total == 0) return(invisible())
    full <- floor(width * done / total)
    draw(sprintf("%-8s [%s%s] %3.0f %%", stage, strrep("=", full), strrep(" ", width - full), floor(100 * done / total)))
  }
  close <- function() if (drawn > 0) {
    draw("")
    cat("\r", file = stderr())
  }
  list(tell = tell, close = close)
}
