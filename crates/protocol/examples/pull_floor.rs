//! What any server needs for a pull: answers every request with the next 32 records of a file, without looking at either.
//! `cargo run --release -p roxmq-protocol --example pull_floor -- ADDRESS FILE`
//!
//! Without FILE the records come from memory. Its process id is printed for whoever measures it.

use roxmq_protocol::code::response;
use roxmq_protocol::frame;
use roxmq_protocol::response::PullAnswer;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

const RECORD_BYTES: usize = 1160;
const RECORDS: usize = 32;
const BODY_BYTES: usize = RECORDS * RECORD_BYTES;
/// More than the processor's cache holds.
const FILE_BYTES: usize = (2 << 30) / BODY_BYTES * BODY_BYTES;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:7701".to_owned());
    let file = arguments.next().map(|path| fill(&path)).transpose()?.map(Arc::new);
    let listener = TcpListener::bind(&address)?;
    println!("answers pulls on {address}, process {}", std::process::id());
    for stream in listener.incoming() {
        let (stream, file) = (stream?, file.clone());
        std::thread::spawn(move || serve(stream, file.as_deref()));
    }
    Ok(())
}

/// Of a record only the length is looked at by who measures.
fn records() -> Vec<u8> {
    let mut record = vec![b'x'; RECORD_BYTES];
    record[..4].copy_from_slice(&(RECORD_BYTES as i32).to_be_bytes());
    record.repeat(RECORDS)
}

fn fill(path: &str) -> io::Result<File> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    let body = records();
    for _ in 0..FILE_BYTES / BODY_BYTES {
        (&file).write_all(&body)?;
    }
    file.sync_all()?;
    Ok(file)
}

fn serve(mut stream: TcpStream, file: Option<&File>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut request, mut head, mut body) = (vec![0; 1 << 16], Vec::new(), records());
    let (mut filled, mut position, mut next) = (0, 0, 0);
    loop {
        match stream.read(&mut request[filled..])? {
            0 => return Ok(()),
            read => filled += read,
        }
        if frame::length(&request[..filled]).map_err(io::Error::other)? != Some(filled) {
            continue;
        }
        let (encoding, opaque) =
            frame::read(&request[..filled], |frame| (frame.header.encoding, frame.header.opaque))
                .map_err(io::Error::other)?;
        filled = 0;
        next += RECORDS as i64;
        if let Some(file) = file {
            file.read_exact_at(&mut body, position)?;
            position = (position + BODY_BYTES as u64) % FILE_BYTES as u64;
        }
        let answer = PullAnswer { next_begin_offset: next, max_offset: i64::MAX, ..PullAnswer::default() };
        head.clear();
        answer.encode_head(&mut head, encoding, response::SUCCESS, opaque, Some("FOUND"), BODY_BYTES);
        write_both(&mut stream, &head, &body)?;
    }
}

fn write_both(stream: &mut TcpStream, head: &[u8], body: &[u8]) -> io::Result<()> {
    let written = stream.write_vectored(&[io::IoSlice::new(head), io::IoSlice::new(body)])?;
    match written.checked_sub(head.len()) {
        Some(of_body) => stream.write_all(&body[of_body..]),
        None => {
            stream.write_all(&head[written..])?;
            stream.write_all(body)
        }
    }
}
