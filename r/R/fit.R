# The result of a fit. It holds released and public numbers only, and its JSON, from which anything
# else is computed: an object like any other, which may be copied, saved with `saveRDS` and sent
# elsewhere.

new_fit <- function(json, call = NULL) {
  facts <- value(native_facts(json))
  names <- vapply(facts$coefficients, `[[`, "", "name")
  number <- function(key) setNames(numbers_of(facts$coefficients, key), names)
  kept <- c(
    "formula", "rows", "rows_used", "units", "weights", "purpose", "interval", "level", "target", "target_text", "residual_sd", "r_squared", "family",
    "method", "private", "promise", "date", "ledger", "pretend"
  )
  fit <- list(
    call = call, coefficients = number("estimate"), std_error = number("std_error"), statistic = number("statistic"),
    df = df_of(number("df"), number("std_error")), p_value = number("p_value"), identified = setNames(vapply(facts$coefficients, `[[`, NA, "identified"), names),
    left_out = as.character(unlist(facts$left_out)), warnings = as.character(unlist(facts$warnings)),
    guarantee = facts$guarantee[setdiff(names(facts$guarantee), "releases")], releases = releases_of(facts), json = json
  )
  structure(c(fit, facts[intersect(kept, names(facts))]), class = "dplm")
}

# Degrees of freedom: infinite where a test is Gaussian, NA where there is none.
df_of <- function(df, std_error) ifelse(is.na(df) & !is.na(std_error), Inf, df)

# A number of each record, NA where there is none.
numbers_of <- function(records, key) vapply(records, function(one) if (is.null(one[[key]])) NA_real_ else one[[key]], 0)

releases_of <- function(facts) {
  found <- facts$guarantee$releases
  data.frame(what = vapply(found, `[[`, "", "what"), rho = numbers_of(found, "rho"))
}

print.dplm <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  marked(x$pretend, {
    kind <- if (identical(x$family, "binomial")) "logistic" else "linear"
    cat("Private ", kind, " regression\n\n  ", x$formula, "\n\n", sep = "")
    cat("Coefficients:\n")
    print(x$coefficients, digits = digits)
    cat("\n", spent(x), "\n", sep = "")
    lacking(x)
    cat(void(x$promise))
  })
  invisible(x)
}

# Prints what `printed` prints, each line with its mark where rows were simulated: `pretend` then
# says what that means.
marked <- function(pretend, printed) {
  if (is.null(pretend)) return(invisible(printed))
  lines <- utils::capture.output(invisible(printed))
  cat(sub(" +$", "", paste("PRETEND |", c(pretend, lines))), sep = "\n")
}

# What is said where the noise can be subtracted. Simulated rows have a mark on every line.
void <- function(promise) {
  switch(promise$provenance, system = "", simulated = "", seed = "Not private: the noise came from a fixed seed.\n")
}

# What was spent, in a line.
spent <- function(x) {
  promised <- x$guarantee
  sprintf(
    "%s %ss; rho = %g, which is epsilon = %s at delta = %g", format(x$units$count, big.mark = ",", scientific = FALSE), x$units$unit,
    promised$rho, format(ceiling(promised$epsilon * 1e4) / 1e4), promised$delta
  )
}

# Coefficients that are NA, and why.
lacking <- function(x) {
  if (length(x$left_out) > 0) {
    cat("NA, left out of the model, since the budget cannot resolve it: ", paste(x$left_out, collapse = ", "), "\n", sep = "")
  }
  unknown <- setdiff(names(which(!x$identified)), x$left_out)
  if (length(unknown) > 0) cat("Not identified at this budget: ", paste(unknown, collapse = ", "), "\n", sep = "")
}

summary.dplm <- function(object, ...) {
  letter <- if (any(is.finite(object$df))) "t" else "z"
  coefficients <- cbind(object$coefficients, object$std_error, object$statistic, object$p_value)
  colnames(coefficients) <- c("Estimate", "Std. Error", paste(letter, "value"), sprintf("Pr(>|%s|)", letter))
  text <- value(native_summary(object$json))
  structure(c(list(coefficients = coefficients, text = text), object[c("call", "formula", "guarantee", "releases")]), class = "summary.dplm")
}

print.summary.dplm <- function(x, ...) {
  cat(x$text)
  invisible(x)
}

coef.dplm <- function(object, complete = TRUE, ...) {
  if (complete) object$coefficients else object$coefficients[!is.na(object$coefficients)]
}

formula.dplm <- function(x, ...) x$formula

nobs.dplm <- function(object, ...) object$units$count

confint.dplm <- function(object, parm, level = object$level, ...) {
  found <- value(native_intervals(object$json, number_of("level", level)))
  ends <- c((1 - level) / 2, (1 + level) / 2)
  heads <- paste(format(100 * ends, trim = TRUE, scientific = FALSE, digits = 3), "%")
  table <- matrix(c(found$low, found$high), ncol = 2, dimnames = list(names(object$coefficients), heads))
  if (missing(parm)) table else table[parm, , drop = FALSE]
}

vcov.dplm <- function(object, complete = TRUE, ...) {
  found <- value(native_covariance(object$json))
  if (is.null(found)) {
    refuse("request", "this fit released nothing to make a covariance from: fit again for inference, or at a larger budget")
  }
  known <- matrix(found$values, nrow = length(found$names), byrow = TRUE, dimnames = list(found$names, found$names))
  if (!complete) return(known)
  names <- names(object$coefficients)
  all <- matrix(NA_real_, length(names), length(names), dimnames = list(names, names))
  all[found$names, found$names] <- known
  all
}

predict.dplm <- function(object, newdata, interval = c("none", "confidence", "prediction"), level = object$level, se.fit = FALSE,
                         csv = NULL, ...) {
  interval <- match.arg(interval)
  if (missing(newdata)) refuse("request", "a private fit keeps no rows to predict: give new ones with newdata")
  table <- described(newdata, value(native_predictors(object$json)), csv)
  rows <- if (is.data.frame(newdata)) row.names(newdata)
  if (interval == "none" && !se.fit) return(setNames(value(native_predict(object$json, table)), rows))
  found <- value(native_predict_intervals(object$json, table, number_of("level", level)))
  means <- switch(interval,
    none = setNames(found$estimate, rows),
    confidence = banded(found$estimate, found$low, found$high, rows),
    prediction = banded(found$estimate, found$person_low, found$person_high, rows)
  )
  if (se.fit) list(fit = means, se.fit = setNames(found$std_error, rows)) else means
}

banded <- function(fit, lwr, upr, rows) {
  table <- cbind(fit = fit, lwr = lwr, upr = upr)
  rownames(table) <- rows
  table
}

dplm_over <- function(fit, column, at = list(), level = fit$level, simultaneous = FALSE) {
  of_fit(fit)
  is_value <- function(one) length(one) == 1 && (is.atomic(one) || is.factor(one))
  if (!is.list(at) || (length(at) > 0 && is.null(names(at))) || !all(vapply(at, is_value, NA))) {
    refuse("request", "at must be a list with one value for each name, such as list(educ = 12)")
  }
  values <- vapply(at, function(one) if (inherits(one, "Date")) format(one) else as.character(one), "")
  level <- number_of("level", level)
  found <- value(native_over(fit$json, text_of("column", column), as.character(names(at)), as.character(values), level, isTRUE(simultaneous)))
  band <- data.frame(found$at, found$predicted[c("estimate", "std_error", "low", "high")])
  names(band)[1] <- column
  structure(band, held = found$held, promise = fit$promise)
}

dplm_test <- function(fit, hypothesis, level = fit$level) {
  of_fit(fit)
  if (!is.character(hypothesis)) refuse("request", "a hypothesis is a text such as 'educ = 0', or several of them")
  asked <- function() value(native_test(fit$json, paste(hypothesis, collapse = ", "), number_of("level", level)))
  found <- unquoted("hypothesis", hypothesis, asked)
  each <- found$each
  table <- data.frame(
    hypothesis = found$hypothesis, estimate = each$estimate, std.error = each$std_error, statistic = each$statistic,
    p.value = each$p_value, conf.low = each$low, conf.high = each$high
  )
  joint <- found$joint
  if (!is.null(joint)) joint <- list(statistic = joint[1], df = length(found$hypothesis), df_denominator = joint[2], p.value = joint[3])
  structure(table, joint = joint, promise = fit$promise, pretend = fit$pretend, class = c("dplm_test", "data.frame"))
}

print.dplm_test <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  marked(attr(x, "pretend"), {
    cat(void(attr(x, "promise")))
    print.data.frame(x, digits = digits, row.names = FALSE)
    joint <- attr(x, "joint")
    if (nrow(x) > 1 && !is.null(joint)) {
      law <- if (is.finite(joint$df_denominator)) sprintf("F(%g, %g)", joint$df, joint$df_denominator) else sprintf("chi-square(%g)", joint$df)
      cat(sprintf("\nAll at once: %s = %.4g, p = %.4g\n", law, joint$statistic, joint$p.value))
    }
  })
  invisible(x)
}

of_fit <- function(fit) {
  if (inherits(fit, "dplm_groups")) refuse("request", "this needs the fit of one group: take it from fit$groups")
  if (!inherits(fit, "dplm")) refuse("request", "this needs a fit that dplm() has made")
}

dplm_report <- function(fit, path, title = NULL, author = NULL, data_name = NULL) {
  title <- text_or_null("title", title)
  author <- text_or_null("author", author)
  data_name <- text_or_null("data_name", data_name)
  page <- if (inherits(fit, "dplm_groups")) native_groups_page else native_page
  if (!inherits(fit, "dplm_groups")) of_fit(fit)
  html <- value(page(fit$json, title, author, data_name))
  writeLines(html, path.expand(text_of("path", path)), sep = "", useBytes = TRUE)
  invisible(path)
}

write_dplm <- function(fit, path) {
  write <- if (inherits(fit, "dplm_groups")) native_groups_write else native_write
  if (!inherits(fit, "dplm_groups")) of_fit(fit)
  value(write(fit$json, path.expand(text_of("path", path))))
  invisible(path)
}

read_dplm <- function(path) {
  path <- path.expand(text_of("path", path))
  text <- tryCatch(suppressWarnings(readLines(path, encoding = "UTF-8")), error = function(e) "")
  is_grouped <- any(grepl('"grouped_fit"', text, fixed = TRUE, useBytes = TRUE))
  fit <- if (is_grouped) new_groups(value(native_groups_read(path))) else new_fit(value(native_read(path)))
  if (!is.null(fit$pretend)) warn_of(fit, "this result was made of simulated rows: its numbers say nothing about anybody", FALSE)
  fit
}
