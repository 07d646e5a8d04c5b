#![no_main]
dplm_fuzz::program!(request);
