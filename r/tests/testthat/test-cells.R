# A column of a table that is handed over by mistake, as any argument of any function: no cell of it
# is in any condition.

cells <- c("Alice Xyzzy", "Bob Plugh", "Carol Frotz")
secrets <- c("Alice", "Xyzzy", "Bob", "Plugh", "Carol", "Frotz", "471147")
vectors <- list(cells, factor(cells), setNames(cells, c("a", "b", "c")), I(cells), c(471147.25, 471148.25), matrix(cells), NA_character_)

quiet_about_cells <- function(name, call, arguments) {
  refused <- 0
  for (argument in arguments) for (vector in vectors) {
    told <- tryCatch(
      withCallingHandlers({
        call(argument, vector)
        NULL
      }, warning = function(w) invokeRestart("muffleWarning")),
      error = function(e) paste(conditionMessage(e), paste(deparse(conditionCall(e)), collapse = " "))
    )
    refused <- refused + !is.null(told)
    found <- secrets[vapply(secrets, grepl, NA, x = paste(told, collapse = " "), fixed = TRUE)]
    expect_true(length(found) == 0, label = paste(name, argument, class(vector)[1], "said", paste(told, collapse = " ")))
  }
  expect_gt(refused, 0)
}

test_that("no argument of a function is quoted when it is a column", {
  folder <- temporary_folder()
  ledger <- dplm_ledger_init(file.path(folder, "budget.db"), "wages", rho = 1000)
  fit <- fitted_wages()
  usual <- list(
    dplm = list(dplm, list(formula = wage_formula, data = wages, rho = 0.5)),
    dplm_plan = list(dplm_plan, list(formula = wage_formula, rows = 1000, rho = 0.5)),
    dplm_ledger = list(dplm_ledger, list(file = ledger$file)),
    dplm_ledger_init = list(dplm_ledger_init, list(file = file.path(folder, "new.db"), dataset = "x", rho = 1)),
    dplm_ledger_grant = list(dplm_ledger_grant, list(ledger = ledger, dataset = "wages", rho = 1)),
    dplm_ledger_limit = list(dplm_ledger_limit, list(ledger = ledger, dataset = "wages", rho = 1)),
    dplm_ledger_record = list(dplm_ledger_record, list(ledger = ledger, dataset = "wages", rho = 1, what = "mean")),
    dplm_ledger_reverse = list(dplm_ledger_reverse, list(ledger = ledger, entry = 1, reason = "mistake")),
    dplm_ledger_report = list(dplm_ledger_report, list(ledger = ledger, file = file.path(folder, "page.html"))),
    dplm_ledger_backup = list(dplm_ledger_backup, list(ledger = ledger, copy = file.path(folder, "copy.db"))),
    dplm_ledger_show = list(dplm_ledger_show, list(ledger = ledger, dataset = "wages")),
    dplm_ledger_verify = list(dplm_ledger_verify, list(ledger = ledger)),
    predict = list(predict, list(object = fit, newdata = wages, interval = "none", level = 0.9, csv = NULL)),
    confint = list(confint, list(object = fit, parm = "educ", level = 0.9)),
    dplm_test = list(dplm_test, list(fit = fit, hypothesis = "educ = 0")),
    dplm_over = list(dplm_over, list(fit = fit, column = "educ")),
    dplm_report = list(dplm_report, list(fit = fit, path = file.path(folder, "page.html"))),
    write_dplm = list(write_dplm, list(fit = fit, path = file.path(folder, "fit.json"))),
    read_dplm = list(read_dplm, list(path = file.path(folder, "fit.json")))
  )
  for (name in names(usual)) {
    run <- usual[[name]][[1]]
    given <- usual[[name]][[2]]
    all <- union(names(given), setdiff(names(formals(run)), "..."))
    # A method is chosen by its first argument.
    if (name %in% c("predict", "confint")) all <- setdiff(names(given), "object")
    quiet_about_cells(name, function(argument, vector) do.call(run, replace(given, argument, list(vector)), quote = TRUE), all)
  }
})

test_that("several files are a list of paths, and one that is missing is not quoted", {
  folder <- temporary_folder()
  files <- file.path(folder, c("a.csv", "b.csv"))
  utils::write.csv(wages[1:1500, ], files[1], row.names = FALSE)
  utils::write.csv(wages[1501:3000, ], files[2], row.names = FALSE)
  expect_identical(fitted_wages(as.list(files))$rows, 3000)
  expect_error(fitted_wages(files), "no path", class = "dplm_request_error")
  refusal <- expect_error(fitted_wages(list(files[1], "Alice")), "path 2 of the 2", class = "dplm_data_error")
  expect_no_match(refusal$message, "Alice")
})
