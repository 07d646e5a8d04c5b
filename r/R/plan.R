# What accuracy to expect, from public numbers only.

dplm_plan <- function(formula = NULL, rows, features = NULL, rho = NULL, epsilon = NULL, delta = NULL, public = NULL, method = NULL,
                      target = NULL, assume = character(), want = character(), effect = character(), moments = NULL, clip = NULL,
                      steps = NULL, noise_sd = 1, level = 0.95, share = 0.5) {
  if (missing(rows)) refuse("request", "rows must say how many rows there are")
  text <- if (!is.null(formula)) model(formula, public)$text
  ask <- function() value(native_plan(list(
    formula = text, rows = rows, features = features, rho = rho, epsilon = epsilon, delta = delta, method = method, target = target,
    assume = assume, want = want, effect = effect, moments = given_moments(moments), clip = clip, steps = steps, noise_sd = noise_sd,
    level = level, share = share
  )))
  new_plan(unquoted("assume, want and effect", c(assume, want, effect), ask))
}

new_plan <- function(facts) {
  for (key in c("coefficients", "releases", "wants", "effects")) facts[[key]] <- as_frame(facts[[key]])
  facts$budgets <- as_frame(lapply(facts$budgets, function(one) one[setdiff(names(one), "std_errors")]))
  facts$left_out <- as.character(unlist(facts$left_out))
  facts$assumed <- as.character(unlist(facts$assumed))
  structure(facts, class = "dplm_plan")
}

# Records as a data frame, a row for each.
as_frame <- function(records) {
  cell <- function(one) if (is.null(one)) NA else one
  do.call(rbind, lapply(records, function(record) data.frame(lapply(record, cell))))
}

print.dplm_plan <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
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
