"""pictures.py TILEWRIGHT FOLDER: makes the pictures of docs/guide/reports.md anew, in docs/pictures."""
import os
import subprocess
import sys

from browser import Browser


def main():
    command, folder = sys.argv[1], sys.argv[2]
    pictures = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'docs', 'pictures')
    run = os.path.join(folder, 'pictured')
    subprocess.run([command, 'tune', 'gemm', 'm=256', 'n=256', 'k=256', '-t', 'gemmini-16x16-int8', '--no-wisdom', '--seed', '1', '--out', run],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([command, 'report', run], check=True)
    browser = Browser()
    try:
        page = 'file://' + os.path.abspath(os.path.join(run, 'report.html'))
        browser.shape(1180)
        browser.open(page)
        browser.picture(os.path.join(pictures, 'report-light.png'), height=860)
        browser.shape(1180, dark=True)
        browser.open(page)
        browser.picture(os.path.join(pictures, 'report-tree-dark.png'), '#tree')
    finally:
        browser.driver.quit()


main()
