# What other packages find in a fit, and what they cannot find.

rows <- data.frame(x = rep(0:9, 400), g = c("a", "b"))
rows$y <- 2 * rows$x + (rows$g == "b") + (seq_len(4000) * 7919) %% 13 / 2

# Other packages look up the data of a call and compute with them in the clear; a call made by
# do.call holds the rows themselves.
test_that("no fit says where its rows are, or holds them", {
  fitted <- list(
    do.call(dplm, list("y[-5..25] ~ x[0..10]", rows, rho = 0.5)),
    do.call(dplm, list("y[-5..25] ~ x[0..10]", rows, rho = 0.5, by = "g{a,b}")),
    do.call(dplm_study, list(c(main = "y[-5..25] ~ x[0..10]"), rows, rho = 0.5))
  )
  fitted <- c(fitted, list(do.call(dplm_refine, list(fitted[[1]], rows, rho = 0.5))))
  for (fit in fitted) {
    expect_null(fit$call$data)
    expect_false(any(vapply(as.list(fit$call), is.data.frame, NA)))
  }
})

test_that("a design matrix is of new rows", {
  fit <- suppressWarnings(dplm("y[-5..25] ~ x[0..10] + g{a,b} + x:g", rows, rho = 0.5, seed = 1))
  new <- data.frame(x = c(1, 12, NA), g = c("b", "a", "a"))
  design <- model.matrix(fit, new)
  expect_equal(unname(design[1:2, ]), rbind(c(1, 1, 1, 1), c(1, 10, 0, 0)))
  expect_true(all(is.na(design[3, ])))
  expect_equal(unname(drop(design %*% coef(fit))), unname(predict(fit, new)))
  expect_error(model.matrix(fit), class = "dplm_request_error")
})

test_that("marginaleffects computes effects at rows that are given", {
  skip_if_not_installed("marginaleffects")
  fit <- suppressWarnings(dplm("y[-5..25] ~ x[0..10] + g{a,b} + x:g", rows, rho = 0.5, seed = 1))
  new <- data.frame(x = c(1, 5), g = c("a", "b"))
  slopes <- as.data.frame(marginaleffects::slopes(fit, newdata = new, variables = "x"))
  expect_equal(slopes$estimate, unname(c(coef(fit)["x"], coef(fit)["x"] + coef(fit)["x:g[b]"])), tolerance = 1e-6)
  expect_equal(slopes$std.error[1], unname(fit$std_error["x"]), tolerance = 1e-4)
  expect_error(suppressWarnings(marginaleffects::slopes(fit)))
})
