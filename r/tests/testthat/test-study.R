specified <- c(main = wage_formula, short = "wage[0..60] ~ educ[0..20]")

test_that("a study has a fit for each specification, and a table of them", {
  study <- suppressWarnings(dplm_study(specified, wages, rho = 1, seed = 1, interest = "educ", progress = FALSE), classes = "dplm_warning")
  expect_s3_class(study$fits$short, "dplm")
  expect_identical(names(coef(study)), names(specified))
  expect_output(print(study), "Private study of 2 specifications")
  table <- dplm_table(study, fitted_wages(), to = "csv")
  expect_match(unclass(table), ",main,short,", fixed = TRUE)
  expect_output(print(dplm_table(study, stars = TRUE)), "NOT PRIVATE")
  expect_error(dplm_study("y ~ x", wages, rho = 1), class = "dplm_request_error")
  expect_error(dplm_study(specified, wages, rho = 1, shares = list(other = 0.5)), "'other'", class = "dplm_request_error")
})

test_that("a fit is refined by the rows it was made of", {
  fit <- suppressWarnings(dplm(wage_formula, wages, rho = 0.2, seed = 1), classes = "dplm_warning")
  more <- suppressWarnings(dplm_refine(fit, wages, rho = 0.3, seed = 2), classes = "dplm_warning")
  expect_equal(more$guarantee$rho, 0.5)
  expect_lt(more$std_error[["educ"]], fit$std_error[["educ"]])
  expect_error(dplm_refine(1, wages, rho = 1), "dplm()", fixed = TRUE, class = "dplm_request_error")
})

test_that("tables are written in every form", {
  folder <- temporary_folder()
  path <- file.path(folder, "table.docx")
  dplm_table(a = fitted_wages(), b = fitted_wages(), to = "docx", path = path)
  expect_identical(readBin(path, "raw", 2), charToRaw("PK"))
  expect_match(unclass(dplm_table(fitted_wages(), to = "latex", title = "Wages & more")), "caption{Wages \\& more}", fixed = TRUE)
  expect_error(dplm_table(fitted_wages(), to = "docx"), "path", class = "dplm_request_error")
  expect_error(dplm_table(lm(wage ~ educ, wages)), "dplm()", fixed = TRUE, class = "dplm_request_error")
})

test_that("what a private fit has not answers with what there is instead", {
  fit <- fitted_wages()
  for (generic in list(residuals, fitted, deviance, update, logLik, anova)) {
    expect_error(generic(fit), class = "dplm_request_error")
  }
  expect_equal(sigma(fit), fit$residual_sd$estimate)
  expect_identical(df.residual(fit), min(fit$df))
  expect_identical(unname(fit$statistic), unname(fit$coefficients / fit$std_error))
})
