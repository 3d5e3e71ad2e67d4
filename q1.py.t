/tmp/oracle/bin/python: can't open file '/work/wt/auto/q1.py': [Errno 2] No such file or directory
