# What accuracy to expect, from public numbers only.

dplm_plan <- function(formula = NULL, rows,
                      # <options dplm_plan>
                      rho = NULL, epsilon = NULL, delta = NULL, focus = character(), moments = NULL,
                      family = "gaussian", neighbours = "replace-one", method = NULL, clip = NULL,
                      steps = NULL, step_size = NULL, target = NULL, level = 0.95, features = NULL,
                      assume = character(), noise_sd = NULL, want = character(), effect = character(),
                      share = 0.5,
                      # </options>
                      public = NULL) {
  if (missing(rows)) refuse("request", "rows must say how many rows there are")
  said <- mget(setdiff(names(formals(dplm_plan)), c("formula", "public")), environment())
  said["moments"] <- list(given_moments(moments))
  if (!is.null(formula)) said <- with_given(said, model(formula, public, takes_bare = TRUE))
  new_plan(unquoted("assume, want and effect", c(assume, want, effect), function() value(native_plan(said))))
}

# A plan of groups, each with its own plan, or of a fit without a forecast.
print_without_forecast <- function(x, digits) {
  count <- format(x$units$count, big.mark = ",", scientific = FALSE)
  told <- if (is.null(x$groups)) x$unforeseen else sprintf("%d groups", length(x$groups))
  cat(sprintf("Plan of a private fit: %s %ss, rho = %g, method %s: %s\n", count, x$units$unit, x$rho, x$method, told))
  for (one in x$groups) {
    cat("\n", unlist(one$by), ": ", one$unforeseen, "\n", sep = "")
    if (!is.null(one$plan)) print(one$plan, digits = digits)
  }
  invisible(x)
}

new_plan <- function(facts) {
  if (!is.null(facts$groups)) facts$groups <- lapply(facts$groups, plan_of_group)
  for (key in c("coefficients", "releases", "wants", "effects")) facts[[key]] <- as_frame(facts[[key]])
  facts$budgets <- as_frame(lapply(facts$budgets, function(one) one[setdiff(names(one), "std_errors")]))
  facts$left_out <- as.character(unlist(facts$left_out))
  facts$assumed <- as.character(unlist(facts$assumed))
  structure(facts, class = "dplm_plan")
}

# The plan of a group, or in `unforeseen` why it would not be fitted.
plan_of_group <- function(one) {
  if (!is.null(one$plan)) one$plan <- new_plan(one$plan)
  one
}

# Records as a data frame, a row for each.
as_frame <- function(records) {
  cell <- function(one) if (is.null(one)) NA else one
  do.call(rbind, lapply(records, function(record) data.frame(lapply(record, cell))))
}

print.dplm_plan <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  if (is.null(x$fit)) return(print_without_forecast(x, digits))
  if (!is.null(x$groups)) {
    cat(sprintf("Plan of a private fit: %d groups, rho = %g, method %s: a plan for each in groups\n", length(x$groups), x$rho, x$method))
    return(invisible(x))
  }
  cat(sprintf(
    "Plan of a private fit: %s rows, %g coefficients, rho = %g (epsilon = %s at delta = %g), method %s\n",
    format(x$rows, big.mark = ",", scientific = FALSE), x$features, x$rho, format(ceiling(x$epsilon * 1e4) / 1e4), x$delta, x$method
  ))
  if (is.null(x$coefficients)) {
    cat(sprintf("Standard error %.4g (%.4g without privacy), each of a column of unit variance\n", x$fit$std_error, x$classical$std_error))
  } else {
    shown <- x$coefficients[c("std_error", "classical_error")]
    dimnames(shown) <- list(x$coefficients$name, c("Std. Error", "without privacy"))
    print(shown, digits = digits)
  }
  if (length(x$left_out) > 0) cat("Likely to be left out: ", paste(x$left_out, collapse = ", "), "\n", sep = "")
  for (what in c("wants", "effects")) if (!is.null(x[[what]])) print(x[[what]], digits = digits, row.names = FALSE)
  if (length(x$assumed) > 0) cat("Assumed:", paste0("  ", x$assumed), sep = "\n")
  invisible(x)
}
