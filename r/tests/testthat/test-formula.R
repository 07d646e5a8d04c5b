test_that("a formula of R needs its facts beside it", {
  public <- list(wage = c(0, 60), educ = c(0, 20), exper = c(0, 60), union = c("no", "yes"))
  expect_identical(fitted_wages(formula = wage ~ educ + exper + union, public = public)$json, fitted_wages()$json)
  expect_error(dplm(wage ~ educ, wages, rho = 1), "public = list(wage = c(0, 100))", fixed = TRUE, class = "dplm_request_error")
  expect_error(dplm(wage ~ educ, wages, rho = 1, public = public), "'exper'", class = "dplm_request_error")
  expect_error(dplm(wage ~ educ, wages, rho = 1, public = list(wage = 1, educ = 2)), "'wage'", class = "dplm_request_error")
  expect_error(dplm(wage_formula, wages, rho = 1, public = public), "formula of R", class = "dplm_request_error")
})

test_that("a formula of R is written as it reads", {
  public <- list(
    pay = c(1, 200000), age = c(18, 90), share = c(0.05, 1), day = as.Date(c("2020-01-01", "2020-12-31")), `a b` = c("x, y", "z")
  )
  text <- dplm:::written(log(pay) ~ poly(age, 3) + I(age^2) + share * `a b` + day - 1, public)
  expect_identical(
    text, 'log(pay[1..200000]) ~ poly(age[18..90], 3) + I(age[18..90]^2) + share[0.05..1.00] * `a b`{"x, y",z} + day[2020-01-01..2020-12-31] - 1'
  )
  expect_s3_class(dplm_plan(log(pay) ~ poly(age, 3) + I(age^2) + share * `a b` + day - 1, public = public, rows = 1e5, rho = 1), "dplm_plan")
})

test_that("a model file is read", {
  path <- tempfile(fileext = ".toml")
  on.exit(unlink(path))
  writeLines(command("init", wages_file(), "--response", "wage"), path)
  expect_error(dplm(path, wages, rho = 1), class = "dplm_request_error")
  expect_error(dplm("nowhere.toml", wages, rho = 1), "nowhere.toml", class = "dplm_request_error")
})
