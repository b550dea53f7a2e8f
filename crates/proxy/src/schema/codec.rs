//! How `tonic` turns messages of the schema into bytes and back: as it always does, but with buffers that start small.
//! They live as long as their stream, and most streams wait.

use prost::Message;
use std::marker::PhantomData;
use tonic::codec::{BufferSettings, Codec};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

/// What a buffer has at first; it grows with what goes through it.
const READ_BYTES: usize = 64;
const WRITE_BYTES: usize = 512;
/// Messages are sent together up to this.
const YIELD_BYTES: usize = 32 * 1024;

#[derive(Debug)]
pub struct SmallBuffers<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for SmallBuffers<T, U> {
    fn default() -> Self {
        SmallBuffers(PhantomData)
    }
}

impl<T, U> Codec for SmallBuffers<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> ProstEncoder<T> {
        ProstCodec::<T, U>::raw_encoder(BufferSettings::new(WRITE_BYTES, YIELD_BYTES))
    }

    fn decoder(&mut self) -> ProstDecoder<U> {
        ProstCodec::<T, U>::raw_decoder(BufferSettings::new(READ_BYTES, YIELD_BYTES))
    }
}
