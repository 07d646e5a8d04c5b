"""The report page in headless Chromium: desktop and phone, light and dark, and on paper."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from common import FORMULA, ROOT
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import dplm

PICTURES = ROOT / "target" / "report-pictures"
SCREENS = {"desktop": (1280, 900), "phone": (390, 844)}
A4_POINTS = (595, 842)


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(wages, tmp_path_factory) -> dict[str, Path]:
    """Fits that make the page differ.

    They have intervals or none, coefficients that are not identified, many runs, long and odd
    names.
    """
    folder = tmp_path_factory.mktemp("pages")
    odd = {f"a rather long name for column <{j}> & more": wages["exper"] for j in range(3)} | {"y": wages["wage"]}
    quoted = " + ".join(f"`{name}`[0..45]" for name in odd if name != "y")
    many = dplm.simulate(rows=3000, features=30, seed=1)
    fits = {
        "usual": dplm.lm(FORMULA, wages, rho=0.5),
        "titled": dplm.lm(FORMULA, wages, rho=0.5),
        "seeded": dplm.lm(FORMULA, wages, rho=0.5, seed=1),
        "prediction": dplm.lm(FORMULA, wages, rho=0.5, purpose="prediction"),
        "starved": dplm.lm(FORMULA.replace("{no,yes}", "{no,yes,unknown}"), wages, rho=0.01),
        "adassp": dplm.lm(FORMULA, wages, rho=0.5, method="adassp", purpose="prediction"),
        "independent": dplm.lm("educ ~ exper", wages, rho=1, standardised=True, interval="independent"),
        "odd": dplm.lm(f"y[0..60] ~ {quoted}", odd, rho=5),
        "many": dplm.lm("y ~ .", many, rho=1, standardised=True),
        "logit": dplm.glm("union{no,yes} ~ educ[0..20] + exper[0..45]", wages, rho=2),
        "event": dplm.lm(
            "y[0..60] ~ i(period{1,2,3,4}, treated{0,1}, ref = 2) | id", followed(wages), rho=5, person="id", rows_per_person=4
        ),
    }
    curved = FORMULA.replace("exper[0..45]", "poly(exper[0..45], 3)") + " + educ:union + I(educ^2) + sqrt(educ) + log1p(educ)"
    specifications = {"main": FORMULA, "without the years of experience": "wage[0..60] ~ educ[0..20]", "curved": curved}
    cover = {"title": "Wages & schooling in a <small> town: what a year at school goes with", "author": "The office", "data_name": "wages 2026"}
    for name, fit in fits.items():
        fit.to_html(folder / f"{name}.html", **(cover if name == "titled" else {}))
    dplm.study(specifications, wages, rho=2).report(folder / "study.html")
    return {name: folder / f"{name}.html" for name in NAMES}


def followed(wages) -> dict[str, list]:
    """Four periods of each person; half of them are treated from the third on."""
    rows = [(person, period) for person in range(2000) for period in range(1, 5)]
    response = [wages["wage"][person] + 2 * (person % 2 and period > 2) + period % 3 for person, period in rows]
    persons, periods = zip(*rows, strict=True)
    return {"id": list(persons), "period": list(periods), "treated": [person % 2 for person in persons], "y": response}


NAMES = ["usual", "titled", "seeded", "prediction", "starved", "adassp", "independent", "odd", "many", "logit", "event", "study"]

# Text whose contrast with the background behind it is below what WCAG AA asks for.
FAINT = """
const light = value => {
  const c = value / 255;
  return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
};
const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
const numbers = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
const behind = element => {
  const colour = getComputedStyle(element).backgroundColor;
  const isLast = colour !== 'rgba(0, 0, 0, 0)' || !element.parentElement;
  return isLast ? numbers(colour) : behind(element.parentElement);
};
const texts = 'p, h1, h2, th, td, dt, dd, li, pre, svg text';
return [...document.querySelectorAll(texts)].filter(element => {
  const style = getComputedStyle(element);
  const ink = numbers(element.namespaceURI.includes('svg') ? style.fill : style.color);
  const [a, b] = [luminance(ink), luminance(behind(element))].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05) < 4.5;
}).map(element => element.textContent);
"""

# Words of a picture that stick out of it.
CUT = """
return [...document.querySelectorAll('svg text')].filter(text => {
  const box = text.getBBox(), view = text.ownerSVGElement.viewBox.baseVal;
  const isBefore = box.x < -1 || box.y < -1;
  return isBefore || box.x + box.width > view.width + 1 || box.y + box.height > view.height + 1;
}).map(text => text.textContent);
"""

# Tables that are wider than the page, so that a part of them is not seen.
WIDE = "return [...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent);"

# Names in tables that take two lines.
BROKEN = """
const lines = one => new Set([...one.getClientRects()].map(box => box.top)).size;
const broken = [...document.querySelectorAll('tbody th code')].filter(one => lines(one) > 1);
return broken.map(one => one.textContent);
"""

# Words of a picture that are too small to read on this screen.
TINY = """
return [...document.querySelectorAll('svg text')].filter(text => {
  const scale = text.getScreenCTM().a;
  return parseFloat(getComputedStyle(text).fontSize) * scale < 9;
}).map(text => text.textContent);
"""


def show(browser, page: Path, screen: str, scheme: str) -> None:
    width, height = SCREENS[screen]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": screen == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    browser.get(page.as_uri())
    # Two frames later the new size has been laid out.
    browser.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")


def picture(browser, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})
    (PICTURES / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", list(SCREENS))
@pytest.mark.parametrize("name", NAMES)
def test_on_a_screen(browser, pages, name, screen, scheme):
    show(browser, pages[name], screen, scheme)
    picture(browser, f"{name}-{screen}-{scheme}")
    ask = browser.execute_script
    assert browser.get_log("browser") == []
    width, shown = ask("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width <= shown, "the page scrolls sideways"
    assert ask("return performance.getEntriesByType('resource').length") == 0, "the page asked for something"
    assert ask(FAINT) == [] and ask(CUT) == [] and ask(TINY) == []
    dark = ask("return getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_and_table_says_what_it_is(browser, pages, name):
    show(browser, pages[name], "desktop", "light")
    for drawing in browser.find_elements(By.CSS_SELECTOR, "svg"):
        assert drawing.get_attribute("aria-label") or drawing.get_attribute("aria-hidden") == "true"
    headings = [heading.tag_name for heading in browser.find_elements(By.CSS_SELECTOR, "h1, h2")]
    assert headings[0] == "h1" and headings.count("h1") == 1
    assert browser.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
    assert ("Not private" in browser.find_element(By.TAG_NAME, "header").text) == (name == "seeded")


@pytest.mark.parametrize("name", ["usual", "titled", "logit", "event", "study"])
def test_nothing_is_cut_off_on_a_desktop(browser, pages, name):
    show(browser, pages[name], "desktop", "light")
    assert browser.execute_script(WIDE) == []
    if name != "study":
        assert browser.execute_script(BROKEN) == []


def test_the_table_can_be_scrolled_by_keyboard(browser, pages):
    show(browser, pages["usual"], "phone", "light")
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("role") == "region"


@pytest.mark.parametrize("name", ["usual", "titled", "many", "odd", "study"])
def test_on_paper(browser, pages, name):
    show(browser, pages[name], "desktop", "dark")
    options = {"preferCSSPageSize": True, "printBackground": True}
    paper = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", options)["data"])
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / f"{name}.pdf").write_bytes(paper)
    boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", paper)
    assert boxes, "the pages of the document can be told"
    for width, height in boxes:
        assert (round(float(width)), round(float(height))) == A4_POINTS
    assert len(boxes) <= {"usual": 2, "titled": 2, "odd": 3, "many": 5, "study": 3}[name], "an ordinary fit prints on two pages"
    dark_screen = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark_screen})
    assert browser.execute_script(FAINT) == []
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
