# The main job: a private fit.

dplm <- function(formula, data,
                 # <options dplm>
                 rho = NULL, epsilon = NULL, delta = NULL, focus = character(),
                 standardised = FALSE, moments = NULL, family = "gaussian", weights = NULL,
                 keep = character(), by = NULL, group_sizes = NULL, neighbours = "replace-one",
                 person = NULL, rows_per_person = NULL, method = NULL, clip = NULL, steps = NULL,
                 step_size = NULL, interval = "newton", target = NULL, level = 0.95, batches = 10,
                 burn_in = NULL, purpose = "inference", csv = NULL, strict = FALSE, seed = NULL,
                 threads = NULL, memory = NULL, device = "cpu", ledger = NULL, dataset = NULL,
                 other_table = FALSE, pretend = FALSE, dry_run = FALSE, assume = character(),
                 # </options>
                 public = NULL, progress = interactive()) {
  call <- without_data(match.call())
  said <- mget(setdiff(names(formals(dplm)), c("formula", "data", "public", "progress")), environment())
  said["pretend"] <- list(simulated_rows(pretend))
  if (missing(data) && is.null(said$pretend)) refuse("request", accepted)
  takes_bare <- isTRUE(standardised) || identical(method, "dpgd")
  said <- with_given(said, told(formula, public, moments, ledger, takes_bare))
  table <- if (is.null(said$pretend)) described(data, value(native_columns(said)), csv) else list()
  if (isTRUE(dry_run)) return(planned(value(native_dry_run(table, said))))
  bar <- progress_of(progress)
  on.exit(bar$close())
  found <- value(native_fit(table, said, bar$tell))
  telling_what_was_spent(found$spent, {
    made <- if (is.null(by)) new_fit(found$json, call) else new_groups(found$json, call)
    warn_of(made, found$warnings, found$about_privacy)
    made
  })
}

# What arguments say in other words than the native half reads.
told <- function(formula, public, moments, ledger, takes_bare) {
  by <- if (inherits(ledger, "dplm_ledger")) ledger else list(analyst = Sys.getenv("DPLM_ANALYST"))
  account <- c(list(ledger = ledger_file(ledger)), by[intersect(c("analyst", "stated_purpose", "note"), names(by))])
  c(model(formula, public, takes_bare), list(moments = given_moments(moments)), account)
}

# The plan in place of the fit, with what it warns of.
planned <- function(found) {
  plan <- new_plan(found$document)
  warn_of(plan, found$warnings, rep(FALSE, length(found$warnings)))
  plan
}

# How many rows to simulate; NULL where the data are fitted.
simulated_rows <- function(pretend) {
  if (isFALSE(pretend)) return(NULL)
  if (isTRUE(pretend)) return(10000)
  rows <- number_of("pretend", pretend)
  if (rows < 1) refuse("request", "pretend must be a number of rows, or TRUE")
  rows
}

# The file of a ledger, or NULL: where one is mandatory, the name of the data in it is enough.
ledger_file <- function(ledger) {
  if (inherits(ledger, "dplm_ledger")) ledger$file else if (is_text(ledger)) path.expand(ledger) else ledger
}

# Moments as the native half takes them: a path, or a list of numbers and names, in the order of the
# names.
given_moments <- function(moments) {
  if (is.null(moments)) return(NULL)
  if (is_text(moments)) return(path.expand(moments))
  known <- c("names", "means", "sds", "correlations", "covariance")
  if (!is.list(moments) || !all(names(moments) %in% known)) {
    refuse("request", paste("moments must be a path, or a list with some of", paste(known, collapse = ", ")))
  }
  names <- moments$names
  for (matrix in moments[c("covariance", "correlations")]) if (is.null(names)) names <- colnames(matrix)
  if (is.null(names)) refuse("request", "moments needs names, unless the covariance is a matrix that has them")
  ordered <- lapply(moments[setdiff(names(moments), "names")], in_order, as.character(names))
  c(list(names = as.character(names)), ordered)
}

in_order <- function(numbers, names) {
  if (is.matrix(numbers) && !is.null(colnames(numbers)) && !is.null(rownames(numbers))) numbers <- numbers[names, names, drop = FALSE]
  if (!is.matrix(numbers) && !is.null(names(numbers))) numbers <- numbers[names]
  storage.mode(numbers) <- "double"
  unname(numbers)
}
