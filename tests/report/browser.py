"""browser.py TILEWRIGHT FOLDER: the page of `tilewright report` and `tune --watch` in Chromium, as people use it. 77: it cannot be had here."""
import base64
import os
import re
import shutil
import subprocess
import sys
import time

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print('skipped: needs python3-selenium')
    sys.exit(77)

CHROMIUM, DRIVER = '/usr/bin/chromium', '/usr/bin/chromedriver'
FIRST_PAINT = 2000  # milliseconds, with 5,000 candidates
failures = []


def expect(condition, what):
    print(('ok    ' if condition else 'WRONG ') + what, flush=True)
    if not condition:
        failures.append(what)


class Browser:
    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ('--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--disable-dev-shm-usage'):
            options.add_argument(argument)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)

    def shape(self, width, height=900, dark=False, scale=1):
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride',
                                    {'width': width, 'height': height, 'deviceScaleFactor': scale, 'mobile': width < 500})
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia',
                                    {'features': [{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}]})

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, address):
        self.driver.get(address)
        return self.wait('return document.documentElement.dataset.ready === "true"', 30)

    def wait(self, script, seconds=10):
        end = time.time() + seconds
        while time.time() < end:
            if self.js(script):
                return True
            time.sleep(0.05)
        return False

    def errors(self):
        return [e['message'] for e in self.driver.get_log('browser') if e['level'] in ('SEVERE', 'WARNING')]

    def find(self, css):
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def picture(self, path, css=None, height=None):
        clip = self.js('''const e = arguments[0] ? document.querySelector(arguments[0]) : document.documentElement;
            const b = e.getBoundingClientRect(); return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, scale: 1}''', css)
        if height:
            clip['height'] = min(clip['height'], height)
        shot = self.driver.execute_cdp_cmd('Page.captureScreenshot', {'captureBeyondViewport': True, 'clip': clip})
        with open(path, 'wb') as f:
            f.write(base64.b64decode(shot['data']))


def is_painted(browser, css):
    """Is there more than one colour on the canvas, or a line in the picture?"""
    return browser.js('''
      const c = document.querySelector(arguments[0] + ' canvas');
      if (!c) return document.querySelectorAll(arguments[0] + ' svg path').length > 2;
      const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
      for (let i = 0; i < d.length && seen.size < 3; i += 4) if (d[i + 3] > 100) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
      return seen.size >= 2''', css)


def fits(browser):
    return browser.js('return document.documentElement.scrollWidth <= innerWidth')


def check_run(browser, page):
    browser.shape(1280)
    expect(browser.open(page), 'the page is drawn')
    expect(browser.errors() == [], 'the console is empty')
    for part in ('progress', 'tree', 'roofline', 'timeline'):
        expect(is_painted(browser, '#' + part), part + ' is painted')
    text = browser.js('return document.body.innerText')
    for word in ('cycles', 'every element', 'tilewright tune gemm', 'array_busy', 'of the bound', 'lower bound on cost', 'candidates in the order'):
        expect(word in text, 'the page says "%s"' % word)
    for width in (1280, 390):
        for dark in (False, True):
            browser.shape(width, dark=dark)
            browser.open(page)
            expect(fits(browser), '%d pixels, %s: nothing is wider than the window' % (width, 'dark' if dark else 'light'))
            expect(browser.errors() == [], '... and the console is empty')
            bars = browser.js('return new Set([...document.querySelectorAll("#steps .gauge")].map(e => Math.round(e.getBoundingClientRect().left))).size')
            expect(bars == 1, '... the bars of all steps begin in one column')
            wide = browser.js('return [...document.querySelectorAll("#levers .scroll, #counters .scroll, #candidates .scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).length')
            expect(wide == 0, '... and no table is wider than its card')
    browser.shape(1280)
    browser.open(page)


def check_mouse(browser):
    """The best of the tree is at a place that the page knows; the pointer shows it, a click opens it."""
    canvas = browser.find('#tree canvas')
    browser.js('arguments[0].scrollIntoView({block: "center"})', canvas)
    seen = False
    box = browser.js('const b = arguments[0].getBoundingClientRect(); return [b.width, b.height]', canvas)
    for step in range(40):
        ActionChains(browser.driver, duration=0).move_to_element_with_offset(canvas, 26 - box[0] / 2 + 1, (step - 20) * 12).perform()
        if not browser.js('return document.getElementById("tip").hidden'):
            seen = True
            break
    expect(seen, 'the pointer over the start shows its plan, verdict and cost')
    tip = browser.js('return document.getElementById("tip").innerText')
    expect('correct' in tip and 'cycles' in tip, '... with verdict and cost')
    ActionChains(browser.driver).click().perform()
    expect(browser.wait('return document.getElementById("detail").open && document.querySelector("#detail pre")'), 'a click opens its source')
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    expect(browser.wait('return !document.getElementById("detail").open'), 'Escape closes it')


def check_keys(browser):
    canvas = browser.find('#tree canvas')
    browser.js('arguments[0].focus()', canvas)
    ActionChains(browser.driver).send_keys(Keys.ARROW_LEFT).perform()
    first = browser.js('return document.getElementById("spoken").textContent')
    ActionChains(browser.driver).send_keys(Keys.ARROW_LEFT).perform()
    second = browser.js('return document.getElementById("spoken").textContent')
    expect(first and second and first != second, 'arrow keys walk through the tree, and say where they are')
    ActionChains(browser.driver).send_keys(*[Keys.ARROW_LEFT] * 20).send_keys(Keys.ARROW_RIGHT).send_keys(Keys.ENTER).perform()
    expect(browser.wait('return document.querySelector("#detail pre .add, #detail pre .del")'), 'Enter opens the difference from the parent')
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    browser.wait('return !document.getElementById("detail").open')
    browser.find('#theme').send_keys(Keys.ENTER)
    expect(browser.wait('return document.documentElement.dataset.theme === "dark"'), 'a key switches to dark')
    rows = browser.js('return document.querySelectorAll("#candidates tbody tr").length')
    browser.find('#candidates input').send_keys('search start correct')
    expect(browser.wait('const found = [...document.querySelectorAll("#candidates tbody tr")];'
                        'return found.length > 0 && found.length < %d && found.every(row => row.textContent.includes("correct"))' % rows), 'the table is searched')
    browser.js('''[...document.querySelectorAll('#progress .tools button')].find(b => b.textContent === 'over time').click()''')
    expect(browser.wait('return document.querySelector("#progress").innerText.includes("time of search")'), 'cost over time')
    expect(browser.errors() == [], 'the console is empty after all of it')


def check_many(browser, page):
    """5,000 candidates whose texts try to be HTML."""
    browser.shape(1280)
    expect(browser.open(page), 'the page of 5,000 candidates is drawn')
    paint = browser.js('return performance.getEntriesByName("first-contentful-paint")[0].startTime')
    print('first paint with 5,000 candidates: %.0f ms; all drawn after %.0f ms; the page has %.1f MB' % (
        paint, browser.js('return performance.now()'), os.path.getsize(page[7:]) / 1e6))
    expect(paint < FIRST_PAINT, 'first paint within %d ms' % FIRST_PAINT)
    expect(browser.js('return R.runs[0].candidates.length') == 5000, 'all candidates are there')
    expect(browser.js('return window.hacked === undefined'), 'no text of a candidate became a script')
    expect(browser.js('return document.querySelectorAll("img").length') == 0, '... or an image')
    browser.js('R.openDetail(R.runs[0], R.runs[0].candidates.find(c => c.n > 100 && c.verdict === "correct"))')
    expect(browser.wait('return document.querySelector("#detail pre .add")'), 'its difference is shown')
    twin = browser.js('const run = R.runs[0]; return R.describe(run.candidates.find(c => c.twin !== undefined), run)')
    expect('the kernel of #0: correct – 100,000,000 cycles' in twin, 'a duplicate has the verdict and the cost of its kernel: ' + twin[:200])
    same = browser.js('''const c = R.runs[0].candidates.find(c => c.n > 100 && c.verdict === "correct");
        return [R.sourceOf(R.runs[0], c.n), c.n]''')
    expect('changed(%d);' % same[1] in same[0] and same[0].count('\n') == 200, 'a source is put together as it was')
    expect(browser.js('return window.hacked === undefined'), 'no source became a script')
    expect(browser.errors() == [], 'the console is empty')
    browser.shape(390)
    browser.open(page)
    expect(fits(browser), '390 pixels: nothing is wider than the window')
    low = browser.js('''[...document.querySelectorAll('#progress .tools button')].find(b => b.textContent === 'utilization').click();
        return document.querySelector('#progress').innerText''')
    expect(re.search(r'0\.0\d+%', low), 'the axis fits utilizations below 0.1%')


def check_live(browser, command, folder):
    out = os.path.join(folder, 'live')
    # a search that is still running when the page has been looked at: a larger problem, and no kernel that was built before
    cache = os.path.join(folder, 'cache')
    shutil.rmtree(cache, ignore_errors=True)
    search = subprocess.Popen([command, 'tune', 'gemm', 'm=512', 'n=512', 'k=512', '-t', 'gemmini-16x16-int8', '--no-wisdom', '--seed', '3', '--fresh', '--jobs', '1',
                               '--iterations', '400', '--plans', '8', '--out', out, '--watch'], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env={**os.environ, 'XDG_CACHE_HOME': cache})
    address = re.search(r'http://127\.0\.0\.1:\d+/[0-9a-f]{32}/', search.stderr.readline()).group(0)
    browser.shape(1280)
    expect(browser.open(address), 'the live page is drawn')
    browser.wait('return (R.runs[0].candidates || []).length > 3', 20)
    before = browser.js('return R.runs[0].candidates.length')
    running = search.poll() is None
    written = subprocess.run([command, 'report', out], capture_output=True, text=True)
    expect(written.returncode == 0, 'a page of the running search: ' + written.stderr)
    grows = browser.wait('return R.runs[0].candidates.length > %d || R.runs[0].state === "finished"' % before, 30)
    expect(grows, 'the live page grows (from %d candidates)' % before)
    browser.js('R.openDetail(R.runs[0], R.runs[0].candidates[1])')
    if running:
        expect(browser.wait('return document.querySelector("#detail pre")'), 'a source of the running search')
    browser.js('document.getElementById("detail").close()')
    seen = browser.errors()  # read before the server stops, because the page logs an error once it does
    search.send_signal(2)
    search.wait(60)
    expect(seen == [] or not running, 'the console is empty: %s' % seen)


def main():
    command, folder = sys.argv[1], sys.argv[2]
    here = os.path.dirname(os.path.abspath(__file__))
    if not (os.path.exists(CHROMIUM) and os.path.exists(DRIVER)):
        print('skipped: needs chromium and chromium-driver')
        return 77
    os.makedirs(folder, exist_ok=True)
    run = os.path.join(folder, 'run')
    tune = [command, 'tune', 'gemm', 'm=64', 'n=64', 'k=64', '-t', 'gemmini-16x16-int8', '--no-wisdom', '--seed', '1', '--jobs', '2', '--iterations', '5', '--out']
    subprocess.run(tune + [run, "--fresh"], check=True, stdout=subprocess.DEVNULL)
    page = subprocess.run([command, 'report', run], capture_output=True, text=True)
    if page.returncode == 3 and 'node-d3' in page.stderr:
        print('skipped: ' + page.stderr.strip())
        return 77
    many = os.path.join(folder, 'many')
    subprocess.run([sys.executable, os.path.join(here, 'many.py'), many, '5000'], check=True)
    subprocess.run([command, 'report', many], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([command, 'report', run, many, '--page', os.path.join(folder, 'both.html')], check=True, stdout=subprocess.DEVNULL)
    browser = Browser()
    try:
        check_run(browser, 'file://' + os.path.join(run, 'report.html'))
        check_mouse(browser)
        check_keys(browser)
        check_many(browser, 'file://' + os.path.join(many, 'report.html'))
        browser.shape(390)
        expect(browser.open('file://' + os.path.join(folder, 'both.html')), 'the comparison is drawn')
        expect(is_painted(browser, '#progress') and fits(browser), '... with a line for each run, within 390 pixels')
        expect(browser.errors() == [], '... and the console is empty')
        check_live(browser, command, folder)
    finally:
        browser.driver.quit()
    print('%d failed' % len(failures))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
