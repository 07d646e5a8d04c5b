library(testthat)
library(dplm)

test_check("dplm")
