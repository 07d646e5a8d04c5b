# A model of every column that may change its type while its cells stay the same.
json_of <- function(data, ...) fitted_wages(data, ...)$json

test_that("a cell means the same whatever its column is stored as", {
  expected <- json_of(wages)
  expect_same(json_of(transform(wages, union = factor(union))), expected)
  expect_same(json_of(transform(wages, union = factor(union, levels = c("other", "yes", "no")))), expected)
  expect_same(json_of(transform(wages, educ = as.double(educ))), expected)
  expect_same(json_of(as.list(wages)), expected)
  expect_same(json_of(transform(wages, wage = I(wage))), expected)
  truths <- transform(wages, union = union == "yes")
  as_truth <- function(data) json_of(data, formula = sub("{no,yes}", "{FALSE,TRUE}", wage_formula, fixed = TRUE))
  expect_same(as_truth(truths), as_truth(transform(truths, union = as.character(union))))
  numbers <- as.matrix(wages[c("wage", "educ")])
  expect_same(json_of(numbers, formula = "wage[0..60] ~ educ[0..20]"), json_of(wages, formula = "wage[0..60] ~ educ[0..20]"))
})

test_that("a cell of the wrong kind is missing, and changes no other", {
  with_cell <- function(column, cell) {
    changed <- wages
    changed[[column]][2] <- cell
    changed
  }
  missing <- json_of(with_cell("educ", NA))
  for (cell in list(NaN, Inf)) expect_same(json_of(with_cell("educ", cell)), missing)
  missing <- json_of(with_cell("union", NA))
  for (cell in list("maybe", "\xff")) expect_same(json_of(with_cell("union", cell)), missing)
  latin1 <- "\xe9"
  Encoding(latin1) <- "latin1"
  accented <- function(cell) json_of(with_cell("union", cell), formula = sub("{no,yes}", "{no,yes,\u00e9}", wage_formula, fixed = TRUE))
  expect_same(accented(latin1), accented("\u00e9"))
  expect_false(identical(accented("\u00e9"), accented(NA)))
})

test_that("declared text is refused where a number is declared, whatever its cells are, and nothing is spent", {
  ledger <- dplm_ledger_init(file.path(temporary_folder(), "budget.db"), "wages", rho = 1)
  texts <- list(as.character, factor, function(educ) I(as.character(educ)), function(educ) replace(as.character(educ), 2, "4711"))
  for (as_text in texts) {
    told <- transform(wages, educ = as_text(educ))
    refusal <- expect_error(dplm(wage_formula, told, rho = 0.5, ledger = ledger, dataset = "wages"), class = "dplm_data_error")
    expect_match(refusal$message, "column 'educ' holds text or categories", fixed = TRUE)
    expect_match(refusal$message, "as.numeric(as.character(data$`educ`))", fixed = TRUE)
    expect_no_match(refusal$message, "4711")
  }
  expect_identical(dplm_ledger_show(ledger, "wages")$spent, 0)
})

test_that("identifiers are what was written, and doubles are none", {
  persons_of <- function(ids) {
    rows <- wages
    rows$id <- rep_len(ids, nrow(rows))
    fitted_wages(rows, person = "id", rows_per_person = 3)$units$count
  }
  expect_identical(persons_of(1:1000), 1000)
  expect_identical(persons_of(factor(1:1000)), 1000)
  expect_identical(persons_of(sprintf("%d.%s", 1:1000, strrep("0", 1:1000 %% 3))), 1000)
  expect_identical(persons_of(paste0("1234567890123456789012345678901234567890", 1:1000)), 1000)
  expect_identical(persons_of(c(1:500, sprintf("%03d", 1:500))), 599)
  for (ids in list(as.double(1:1000), 2^53 + 1:1000, c(TRUE, FALSE), as.Date("2020-01-01") + 1:1000)) {
    expect_error(persons_of(ids), "column 'id' holds .* as.integer\\(data\\$`id`\\)", class = "dplm_data_error")
  }
})

test_that("dates are days, times are the days that R shows, and integers may be of 64 bits", {
  dated <- "wage[0..60] ~ day[2020-01-01..2020-12-31]"
  expected <- json_of(wages, formula = dated)
  expect_same(json_of(transform(wages, day = as.character(day)), formula = dated), expected)
  expect_same(json_of(transform(wages, day = as.POSIXct(paste(day, "00:30"), tz = "Asia/Tokyo")), formula = dated), expected)
  expect_same(json_of(transform(wages, day = as.POSIXct(paste(day, "23:30"))), formula = dated), expected)
  # As the package bit64 keeps them, which is not needed for it.
  bits <- function(integers) readBin(writeBin(as.vector(rbind(as.integer(integers), 0L)), raw(), endian = "little"), "double", length(integers), endian = "little")
  wide <- wages
  wide$educ <- structure(bits(wages$educ), class = "integer64")
  expect_same(json_of(wide), json_of(wages))
})

test_that("what is no table, and what no model can use, is refused in a sentence", {
  expect_error(dplm(wage_formula, rho = 1), "the data must be a data frame", class = "dplm_request_error")
  expect_error(dplm(wage_formula, 1:3, rho = 1), "the data must be a data frame", class = "dplm_request_error")
  expect_error(dplm(wage_formula, "a,b\n1,2", rho = 1), "no path", class = "dplm_request_error")
  expect_error(dplm(wage_formula, "nowhere.csv", rho = 1), "nowhere.csv", class = "dplm_data_error")
  expect_error(dplm(wage_formula, wages[c("wage", "educ", "union")], rho = 1), "exper", class = "dplm_data_error")
  unusable <- wages
  unusable$educ <- as.list(wages$educ)
  expect_error(dplm(wage_formula, unusable, rho = 1), "educ", class = "dplm_data_error")
  unusable$educ <- as.complex(wages$educ)
  expect_error(dplm(wage_formula, unusable, rho = 1), "educ", class = "dplm_data_error")
  expect_error(dplm(wage_formula, as.list(wages)[1:4], rho = 1), class = "dplm_data_error")
  uneven <- as.list(wages)
  uneven$educ <- uneven$educ[-1]
  expect_error(dplm(wage_formula, uneven, rho = 1), "same number of rows", class = "dplm_data_error")
  for (none in list(wages[0, ], data.frame(), list(), character(), NULL)) expect_error(dplm(wage_formula, none, rho = 1), class = "dplm_error")
  expect_error(dplm(wage_formula, wages[0, ], rho = 1), "row", class = "dplm_data_error")
  expect_error(dplm(wage_formula, wages, rho = 1, strict = TRUE), "exper", class = "dplm_data_error")
})

test_that("files are read by the library", {
  folder <- temporary_folder()
  plain <- file.path(folder, "wages.csv")
  utils::write.csv(wages, plain, row.names = FALSE)
  packed <- gzfile(file.path(folder, "wages.csv.gz"), "w")
  writeLines(readLines(plain), packed)
  close(packed)
  expect_same(json_of(file.path(folder, "wages.csv.gz")), json_of(plain))
  semicolons <- file.path(folder, "semicolons.csv")
  utils::write.csv2(wages, semicolons, row.names = FALSE)
  # A fit keeps how its text was written, and is the same otherwise.
  fit <- json_of(semicolons, csv = "semicolon,decimal-comma")
  expect_match(fit, '"csv":"semicolon,decimal-comma"', fixed = TRUE)
  expect_same(sub('"csv":"semicolon,decimal-comma"', '"csv":""', fit, fixed = TRUE), json_of(plain))
})

test_that("Arrow streams are tables", {
  skip_if_not_installed("nanoarrow")
  expected <- json_of(wages)
  expect_same(json_of(nanoarrow::as_nanoarrow_array_stream(wages)), expected)
  used <- nanoarrow::as_nanoarrow_array_stream(wages)
  json_of(used)
  expect_error(dplm(wage_formula, used, rho = 1), "Arrow stream", class = "dplm_data_error")
  expect_same(json_of(nanoarrow::as_nanoarrow_array(wages)), expected)
})
