from httpdyno.report.study.their_files import patch_text

FILE = "--- /etc/a.conf\n+++ /etc/a.conf\n@@ -1 +1 @@\n-- old\n+-- new\n"
NEW = "--- /dev/null\n+++ /etc/b.conf\n@@ -0,0 +1 @@\n+b\n"
COMMAND = "--- command line of shop\n+++ command line of shop\n@@ -1 +1,2 @@\n shop\n+/x\n"
VARIABLE = "--- environment\n+++ environment\n@@ -0,0 +1 @@\n+shop: A=1\n"


def test_a_patch_is_of_files_alone():
    assert patch_text(VARIABLE + FILE + COMMAND + NEW) == FILE + NEW
    assert patch_text(COMMAND + VARIABLE) == ""
    assert patch_text("") == ""


def test_lines_that_look_like_names_of_files_stay_where_they_are():
    # `-- x` taken out reads `--- x`.
    tricky = "--- /etc/a\n+++ /etc/a\n@@ -1,2 +1 @@\n--- x\n-y\n"
    assert patch_text(tricky) == tricky
