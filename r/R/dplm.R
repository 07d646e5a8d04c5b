# The main job: a private fit.

dplm <- function(formula, data, rho = NULL, epsilon = NULL, delta = NULL, public = NULL, method = NULL, clip = NULL, steps = NULL,
                 step_size = NULL, interval = "newton", target = NULL, level = 0.95, batches = 10, burn_in = NULL,
                 neighbours = "replace-one", person = NULL, rows_per_person = NULL, weights = NULL, by = NULL, group_sizes = NULL,
                 purpose = "inference", standardised = FALSE, moments = NULL, ledger = NULL, dataset = NULL, other_table = FALSE,
                 csv = NULL, strict = FALSE, seed = NULL, threads = NULL, memory = NULL, progress = interactive(),
                 dry_run = FALSE, pretend = FALSE) {
  call <- match.call()
  simulated <- simulated_rows(pretend)
  if (missing(data) && is.null(simulated)) refuse("request", accepted)
  asked <- model(formula, public)
  said <- if (inherits(ledger, "dplm_ledger")) ledger else list(analyst = Sys.getenv("DPLM_ANALYST"))
  options <- list(
    rho = rho, epsilon = epsilon, delta = delta, method = method, clip = clip, steps = steps, step_size = step_size,
    interval = interval, target = target, level = level, batches = batches, burn_in = burn_in, neighbours = neighbours,
    person = person, rows_per_person = rows_per_person, weights = weights, by = by, group_sizes = group_sizes, purpose = purpose,
    standardised = standardised, moments = given_moments(moments), ledger = ledger_file(ledger), dataset = dataset,
    other_table = other_table, analyst = said$analyst, stated_purpose = said$stated_purpose, note = said$note, strict = strict,
    seed = seed, threads = threads, memory = memory, pretend = simulated
  )
  table <- if (is.null(simulated)) described(data, value(native_columns(asked, options)), csv) else list()
  if (isTRUE(dry_run)) return(new_plan(value(native_dry_run(table, asked, options))))
  bar <- progress_of(progress)
  on.exit(bar$close())
  fit <- if (is.null(by)) native_fit else native_fit_groups
  found <- value(fit(table, asked, options, bar$tell))
  telling_what_was_spent(found$spent, {
    made <- if (is.null(by)) new_fit(found$json, call) else new_groups(found$json, call)
    warn_of(made, found$warnings, found$about_privacy)
    made
  })
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

# Moments as the native half takes them: a path, or a list of numbers and names, in the order of the names.
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
