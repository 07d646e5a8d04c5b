# Pictures of a fit, by R's own graphics.

blue <- "#1f5fa8"

plot.dplm <- function(x, over = NULL, at = list(), level = x$level, simultaneous = FALSE, ...) {
  if (is.null(over)) plot_coefficients(x, level, ...) else plot_over(x, over, at, level, simultaneous, ...)
  if (!is.null(x$pretend)) graphics::mtext("PRETEND: simulated rows", side = 3, line = 0.1, adj = 0, col = "#9c1c1c", font = 2)
  invisible(x)
}

# Each coefficient that is identified with its interval, each in its own units; the intercept only
# where it is all there is.
plot_coefficients <- function(fit, level, ...) {
  table <- cbind(estimate = fit$coefficients, confint(fit, level = level))
  table <- table[!is.na(fit$std_error), , drop = FALSE]
  if (nrow(table) > 1) table <- table[rownames(table) != "(Intercept)", , drop = FALSE]
  if (nrow(table) == 0) refuse("request", "no coefficient of this fit is identified, so there is nothing to draw: spend more budget")
  places <- rev(seq_len(nrow(table)))
  finite <- range(table[is.finite(table)], 0)
  margins <- graphics::par(mar = c(4.5, 2 + 0.55 * max(nchar(rownames(table))), 1.5, 1.5))
  on.exit(graphics::par(margins))
  label <- sprintf("coefficient, per unit of its column (%g %% intervals)", 100 * level)
  plotted <- list(x = finite, y = c(0.5, nrow(table) + 0.5), type = "n", yaxt = "n", xlab = label, ylab = "", bty = "n")
  do.call(graphics::plot.default, with_given(plotted, list(...)))
  graphics::abline(v = 0, lty = 2, col = "grey60")
  # An interval without an end goes on to the edge of the picture.
  graphics::segments(pmax(table[, 2], finite[1], na.rm = TRUE), places, pmin(table[, 3], finite[2], na.rm = TRUE), places, col = blue, lwd = 2)
  graphics::points(table[, "estimate"], places, pch = 19, col = blue)
  graphics::axis(2, at = places, labels = rownames(table), las = 1, tick = FALSE)
}

# The mean response over a column: a band over a number, a dot with its interval for each level.
plot_over <- function(fit, column, at, level, simultaneous, ...) {
  band <- dplm_over(fit, column, at, level, simultaneous)
  is_number <- is.numeric(band[[1]])
  places <- if (is_number) band[[1]] else seq_len(nrow(band))
  heard <- range(band$low, band$high, band$estimate, finite = TRUE)
  covered <- if (simultaneous) "for all points at once" else "each for its own point"
  held <- attr(band, "held")
  title <- paste0(sprintf("%g %% intervals, %s", 100 * level, covered), if (length(held) > 0) paste0("\nat ", paste(held, collapse = "; ")))
  plotted <- list(
    x = range(places) + if (is_number) 0 else c(-0.5, 0.5), y = heard, type = "n", xlab = column, ylab = "mean response", main = title,
    font.main = 1, cex.main = 1, bty = "n", xaxt = if (is_number) "s" else "n"
  )
  do.call(graphics::plot.default, with_given(plotted, list(...)))
  if (is_number) {
    graphics::polygon(c(places, rev(places)), c(band$low, rev(band$high)), col = "#1f5fa833", border = NA)
    graphics::lines(places, band$estimate, col = blue, lwd = 2)
  } else {
    graphics::segments(places, band$low, places, band$high, col = blue, lwd = 2)
    graphics::points(places, band$estimate, pch = 19, col = blue)
    graphics::axis(1, at = places, labels = band[[1]])
  }
}

# Options of the user in place of those of the same name.
with_given <- function(usual, given) c(usual[setdiff(names(usual), names(given))], given)
