#![no_main]
dplm_fuzz::program!(remote);
