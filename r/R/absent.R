# What generics of lm give and a private fit has not: each says so, and what there is instead.

residuals.dplm <- function(object, ...) {
  refuse("request", "a private fit keeps no rows, so it has no residuals: their standard deviation is object$residual_sd where it was released")
}

fitted.dplm <- function(object, ...) {
  refuse("request", "a private fit keeps no rows, so it has no fitted values: give rows to predict(object, newdata)")
}

deviance.dplm <- function(object, ...) {
  refuse("request", "a private fit releases no sum of squares: object$residual_sd and object$r_squared have what was released")
}

logLik.dplm <- function(object, ...) {
  refuse("request", "a private fit releases no likelihood: compare specifications by dplm_study(), and coefficients by dplm_test()")
}

update.dplm <- function(object, ...) {
  refuse("request", "another model is another release with its own budget: call dplm() again, plan several by dplm_study(), or add budget by dplm_refine()")
}

anova.dplm <- function(object, ...) {
  refuse("request", "there are no sums of squares to compare: test coefficients by dplm_test(object, \"a = 0, b = 0\")")
}

model.frame.dplm <- function(formula, ...) {
  refuse("request", "a private fit keeps no rows, so it has no model frame")
}

sigma.dplm <- function(object, ...) {
  if (is.null(object$residual_sd)) NA_real_ else object$residual_sd$estimate
}

# The degrees of freedom of a coefficient's test: infinite where it is Gaussian.
df.residual.dplm <- function(object, ...) {
  known <- object$df[!is.na(object$std_error)]
  if (length(known) == 0) NA_real_ else min(known)
}

vcov.dplm_groups <- function(object, ...) lapply(object$groups, vcov)

confint.dplm_groups <- function(object, parm, level = object$level, ...) {
  lapply(object$groups, function(fit) if (missing(parm)) confint(fit, level = level) else confint(fit, parm, level))
}

predict.dplm_groups <- function(object, newdata, ...) {
  refuse("request", "rows are predicted by the fit of their group: predict(fit$groups$north, newdata)")
}

plot.dplm_groups <- function(x, ...) {
  refuse("request", "there is a plot of each group: plot(fit$groups$north), and dplm_report(fit, \"page.html\") draws them beside each other")
}

residuals.dplm_groups <- residuals.dplm
fitted.dplm_groups <- fitted.dplm
deviance.dplm_groups <- deviance.dplm
update.dplm_groups <- update.dplm
