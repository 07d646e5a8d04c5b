# What the coefficients of a logistic regression come to.

dplm_odds_ratios <- function(fit, level = fit$level) {
  must_be_binomial(fit)
  ends <- confint(fit, level = level)
  table <- exp(cbind(estimate = fit$coefficients, ends))
  table[rownames(table) != "(Intercept)", , drop = FALSE]
}

dplm_marginal_effects <- function(fit, level = fit$level) {
  must_be_binomial(fit)
  found <- value(native_facts(fit$json))$marginal_effects
  estimate <- numbers_of(found, "estimate")
  std_error <- numbers_of(found, "std_error")
  half <- stats::qnorm((1 + level) / 2) * std_error
  data.frame(
    estimate = estimate, std_error = std_error, low = estimate - half, high = estimate + half,
    row.names = vapply(found, `[[`, "", "name")
  )
}

must_be_binomial <- function(fit) {
  if (!identical(fit$family, "binomial")) refuse("request", "only a fit of family = \"binomial\" has odds and probabilities")
}
