const headerBytes = 44

/** A WAV file of mono PCM16 at `sampleRate` Hz, which every browser plays. */
export const wavOf = (samples: Int16Array, sampleRate: number): Uint8Array => {
  const bytes = samples.length * 2
  const file = Buffer.alloc(headerBytes + bytes)
  file.write("RIFF", 0, "latin1")
  file.writeUInt32LE(headerBytes - 8 + bytes, 4)
  file.write("WAVEfmt ", 8, "latin1")
  file.writeUInt32LE(16, 16)
  file.writeUInt16LE(1, 20) // PCM
  file.writeUInt16LE(1, 22) // one channel
  file.writeUInt32LE(sampleRate, 24)
  file.writeUInt32LE(sampleRate * 2, 28)
  file.writeUInt16LE(2, 32)
  file.writeUInt16LE(16, 34)
  file.write("data", 36, "latin1")
  file.writeUInt32LE(bytes, 40)
  samples.forEach((sample, index) => {
    file.writeInt16LE(sample, headerBytes + index * 2)
  })
  return file
}
