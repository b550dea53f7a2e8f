//! Compiles the schema without a `protoc` on the machine.

use prost::Message;
use std::error::Error;
use std::path::PathBuf;

const ROOT: &str = "proto";
const SERVICE: &str = "apache/rocketmq/v2/service.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={ROOT}");
    let schema = protox::compile([SERVICE], [ROOT])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // What the reflection service shows.
    std::fs::write(out.join("schema.bin"), schema.encode_to_vec())?;
    tonic_prost_build::configure()
        // A received body is a slice of the request's bytes.
        .bytes(".")
        .btree_map(".")
        .codec_path("crate::schema::SmallBuffers")
        .compile_fds(schema)?;
    Ok(())
}
