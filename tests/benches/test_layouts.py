"""Modules of nginx for the layouts that need them: found or not, and loaded."""

from benches.layouts.modules import Modules


def test_a_module_is_there_with_all_that_it_needs_and_is_loaded_first(tmp_path):
    folder = tmp_path / "usr/lib/nginx/modules"
    folder.mkdir(parents=True)
    modules = Modules(root=tmp_path)
    (folder / "ngx_http_lua_module.so").touch()
    assert not modules.has("lua")
    (folder / "ndk_http_module.so").touch()
    assert modules.has("lua")
    assert not modules.has("stream")
    main = tmp_path / "nginx.conf"
    main.write_text("events {}\nhttp {\n}\n")
    modules.load("lua", main)
    assert main.read_text() == (
        f"load_module {folder}/ndk_http_module.so;\nload_module {folder}/ngx_http_lua_module.so;\n"
        f"events {{}}\nhttp {{\n    lua_package_path '{tmp_path}/usr/share/lua/5.1/?.lua;;';\n}}\n"
    )


def test_libraries_are_looked_for_where_they_are_unpacked(tmp_path):
    (tmp_path / "usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    found = Modules(root=tmp_path).environment
    assert found == {"LD_LIBRARY_PATH": f"{tmp_path}/usr/lib/x86_64-linux-gnu"}
