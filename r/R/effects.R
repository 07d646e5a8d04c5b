# What marginaleffects and insight ask of a fit, and `model.matrix`. Rows are always new ones: a
# private fit keeps none, and its call does not say where they were, so that no other package
# averages over them.

.onLoad <- function(libname, pkgname) {
  known <- "marginaleffects_model_classes"
  options(setNames(list(union(getOption(known), "dplm")), known))
}

# The call without the data, which other packages would look up and compute with in the clear.
without_data <- function(call) {
  call$data <- NULL
  call
}

model.matrix.dplm <- function(object, newdata, csv = NULL, ...) {
  if (missing(newdata)) refuse("request", "a private fit keeps no rows, so it has no design matrix: give rows as newdata")
  design_rows(object, newdata, csv)$values
}

# What multiplies the coefficients in new rows, and what is added to their sum.
design_rows <- function(fit, newdata, csv = NULL) {
  found <- value(native_design_rows(fit$json, described(newdata, value(native_predictors(fit$json)), csv)))
  names <- names(fit$coefficients)
  rows <- if (is.data.frame(newdata)) row.names(newdata)
  list(values = matrix(found$values, ncol = length(names), byrow = TRUE, dimnames = list(rows, names)), offsets = found$offsets)
}

get_coef.dplm <- function(model, ...) coef(model, complete = FALSE)

set_coef.dplm <- function(model, coefs, ...) {
  model$coefficients[names(coefs)] <- coefs
  model
}

get_vcov.dplm <- function(model, vcov = NULL, ...) {
  if (!is.null(vcov) && !isTRUE(vcov)) {
    refuse("request", "the covariance of a private fit was released with it, and there is no other: leave out vcov")
  }
  stats::vcov(model, complete = FALSE)
}

get_predict.dplm <- function(model, newdata, type = "response", ...) {
  unknown <- setdiff(names(which(is.na(model$coefficients))), model$left_out)
  if (length(unknown) > 0) refuse("request", "not every coefficient is identified at this budget, so that effects are not known")
  design <- design_rows(model, newdata)
  used <- ifelse(is.na(model$coefficients), 0, model$coefficients)
  linear <- drop(design$values %*% used) + design$offsets
  is_probability <- identical(model$family, "binomial") && !identical(type, "link")
  rowid <- if ("rowid" %in% names(newdata)) newdata[["rowid"]] else seq_along(linear)
  data.frame(rowid = rowid, estimate = unname(if (is_probability) stats::plogis(linear) else linear))
}

get_data.dplm <- function(x, ...) NULL

# The columns of the model, as packages know them that take formulas of R apart.
find_formula.dplm <- function(x, ...) {
  bare <- gsub("\\[[^]]*\\]|\\{[^}]*\\}", "", strsplit(x$formula, "~", fixed = TRUE)[[1]][1])
  formula <- stats::reformulate(sprintf("`%s`", value(native_predictors(x$json))), str2lang(bare))
  structure(list(conditional = formula), class = c("insight_formula", "list"))
}
