// build.rs - links libcairn where the feature asks for it: CAIRN_LIB_DIR, or where the linker looks.
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
