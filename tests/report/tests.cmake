# The page in a browser; skipped without Chromium and Selenium.
if(TARGET tilewright AND NOT (TW_SANITIZE OR TW_TSAN OR TW_FUZZ))
  add_test(NAME report_browser COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/tests/report/browser.py $<TARGET_FILE:tilewright>
                                       ${CMAKE_CURRENT_BINARY_DIR}/tests/report)
  set_tests_properties(report_browser PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 400)
endif()
# The server of `tune --watch`: token, methods, hosts and malformed requests.
if(TARGET tilewright AND NOT (TW_SANITIZE OR TW_TSAN OR TW_FUZZ))
  add_test(NAME report_live COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/tests/report/live.py $<TARGET_FILE:tilewright>
                                    ${CMAKE_CURRENT_BINARY_DIR}/tests/live)
  set_tests_properties(report_live PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
