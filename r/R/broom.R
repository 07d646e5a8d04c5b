# Methods of generics that the package broom shares; they are there once that, or generics, is
# loaded.

tidy.dplm <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  table <- data.frame(
    term = names(x$coefficients), estimate = unname(x$coefficients), std.error = unname(x$std_error),
    statistic = unname(x$statistic), df = unname(x$df), p.value = unname(x$p_value)
  )
  if (!conf.int) return(table)
  ends <- confint(x, level = conf.level)
  cbind(table, conf.low = unname(ends[, 1]), conf.high = unname(ends[, 2]))
}

tidy.dplm_groups <- function(x, ...) {
  one <- function(level) cbind(setNames(data.frame(level), x$by), tidy.dplm(x$groups[[level]], ...))
  do.call(rbind, lapply(names(x$groups), one))
}

glance.dplm <- function(x, ...) {
  estimate <- function(one) if (is.null(one)) NA_real_ else one$estimate
  data.frame(
    r.squared = estimate(x$r_squared), sigma = estimate(x$residual_sd), nobs = x$units$count, rho = x$guarantee$rho,
    epsilon = x$guarantee$epsilon, delta = x$guarantee$delta, method = x$method$name, target = x$target, level = x$level,
    private = x$private
  )
}
