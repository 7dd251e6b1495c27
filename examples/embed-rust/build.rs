// build.rs - links libcairn if the feature `linked` is enabled, from CAIRN_LIB_DIR or the linker's own search path.
// SPDX-License-Identifier: Apache-2.0
fn main() {
    if std::env::var_os("CARGO_FEATURE_LINKED").is_some() {
        if let Ok(folder) = std::env::var("CAIRN_LIB_DIR") {
            println!("cargo:rustc-link-search=native={folder}");
            println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
        }
        println!("cargo:rustc-link-lib=dylib=cairn");
    }
}
