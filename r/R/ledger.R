# The privacy budget of data sets, kept in a file.

dplm_ledger <- function(file, analyst = Sys.getenv("DPLM_ANALYST"), purpose = "", note = "") {
  said <- list(analyst = text_of("analyst", analyst), stated_purpose = text_of("purpose", purpose), note = text_of("note", note))
  ledger <- structure(c(list(file = normalizePath(text_of("file", file), mustWork = FALSE)), said), class = "dplm_ledger")
  value(native_ledger_datasets(ledger$file))
  ledger
}

dplm_ledger_init <- function(file, dataset, rho = NULL, delta = NULL, note = "", person = NULL, neighbours = "replace-one",
                             mechanisms = "gaussian", epsilon = NULL) {
  asked <- list(rho = rho, epsilon = epsilon, delta = delta, person = person, neighbours = neighbours, mechanisms = mechanisms)
  value(native_ledger_init(path.expand(text_of("file", file)), text_of("dataset", dataset), asked, text_of("note", note)))
  dplm_ledger(file)
}

dplm_ledger_grant <- function(ledger, dataset, rho, note = "") {
  value(native_ledger_grant(file_of(ledger), text_of("dataset", dataset), number_of("rho", rho), text_of("note", note)))
  invisible(ledger)
}

dplm_ledger_limit <- function(ledger, dataset, rho, analyst = "", note = "", others = FALSE) {
  others <- truth_of("others", others)
  if (others && !identical(analyst, "")) {
    refuse("request", "a limit binds one analyst or all others together: leave out analyst or others")
  }
  value(native_ledger_limit(
    file_of(ledger), text_of("dataset", dataset), text_of("analyst", analyst), number_of("rho", rho), text_of("note", note), others
  ))
  invisible(ledger)
}

dplm_ledger_record <- function(ledger, dataset, rho, what, analyst = "", note = "", person = NULL, neighbours = "replace-one",
                               mechanisms = "gaussian", delta = NULL, void = FALSE) {
  asked <- list(rho = rho, person = person, neighbours = neighbours, mechanisms = mechanisms, delta = delta, void = void)
  value(native_ledger_record(
    file_of(ledger), text_of("dataset", dataset), asked, text_of("what", what), text_of("analyst", analyst), text_of("note", note)
  ))
  invisible(ledger)
}

dplm_ledger_reverse <- function(ledger, entry, reason) {
  value(native_ledger_reverse(file_of(ledger), number_of("entry", entry), text_of("reason", reason)))
}

dplm_ledger_report <- function(ledger, file, dataset = NULL) {
  page <- value(native_ledger_report(file_of(ledger), if (!is.null(dataset)) text_of("dataset", dataset)))
  writeLines(page, path.expand(text_of("file", file)), useBytes = TRUE)
  invisible(file)
}

dplm_ledger_backup <- function(ledger, copy) {
  value(native_ledger_back_up(file_of(ledger), path.expand(text_of("copy", copy))))
}

dplm_ledger_show <- function(ledger, dataset) {
  shown <- value(native_ledger_show(file_of(ledger), text_of("dataset", dataset)))
  shown$entries <- entries_of(shown$entries)
  shown
}

# Entries of several kinds as a data frame: what one kind does not have is NA.
entries_of <- function(entries) {
  plain <- lapply(entries, function(entry) Filter(function(one) is.atomic(one) && length(one) == 1, entry))
  keys <- unique(unlist(lapply(plain, names)))
  row <- function(entry) as.data.frame(setNames(lapply(keys, function(key) if (is.null(entry[[key]])) NA else entry[[key]]), keys))
  do.call(rbind, lapply(plain, row))
}

dplm_ledger_verify <- function(ledger, against = list()) {
  if (inherits(against, c("dplm", "dplm_groups"))) against <- list(against)
  if (is_text(against)) against <- list(against)
  if (!is.list(against)) refuse("request", "against takes a list of fits, or of files with their JSON")
  are_files <- vapply(against, is_text, NA)
  if (length(against) > 1) existing("against", against[are_files])
  kept <- function(j) {
    fit <- against[[j]]
    if (is_text(fit)) return(list(name = path.expand(fit), json = NULL))
    if (!inherits(fit, c("dplm", "dplm_groups"))) refuse("request", "against takes a list of fits, or of files with their JSON")
    list(name = sprintf("against[[%d]]", j), json = fit$json)
  }
  value(native_ledger_verify(file_of(ledger), lapply(seq_along(against), kept)))$hash
}

print.dplm_ledger <- function(x, ...) {
  cat("Privacy ledger ", x$file, "\n", sep = "")
  for (dataset in value(native_ledger_datasets(x$file))) {
    account <- dplm_ledger_show(x, dataset)
    cat(sprintf("  %s: %g of rho = %g spent, %g left\n", dataset, account$spent, account$total, account$left))
    cat(paste0("    ", state_of(account), "\n"), sep = "")
  }
  invisible(x)
}

# What an account promises, and why it pays nothing more where it does not.
state_of <- function(account) {
  promise <- account$promise
  of <- if (promise$unit != "person") "rows" else paste(c("persons", if (!is.null(promise$person)) c("by", promise$person)), collapse = " ")
  promised <- sprintf("neighbours: %s, of %s; mechanisms: %s", promise$neighbours, of, promise$mechanisms)
  overdrawn <- if (account$overdrawn) "overdrawn: more was recorded than was granted, so it pays nothing more"
  c(promised, overdrawn, if (!is.null(account$frozen)) paste("frozen:", account$frozen))
}

file_of <- function(ledger) if (inherits(ledger, "dplm_ledger")) ledger$file else dplm_ledger(ledger)$file
