#!/usr/bin/python3
# page.py FILE: a window of a program with Chromium inside (QtWebEngine), as an Electron program has one, that shows the page FILE. Says what the
# page's title has become.
import sys
from PyQt5.QtCore import QUrl
from PyQt5.QtWebEngineWidgets import QWebEngineView
from PyQt5.QtWidgets import QApplication
application = QApplication(sys.argv)
view = QWebEngineView()
view.titleChanged.connect(lambda title: print("title", title, flush=True))
view.load(QUrl.fromLocalFile(sys.argv[1]))
view.show()
sys.exit(application.exec_())
