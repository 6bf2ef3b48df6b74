/** Causes at the ends of the body, in its characters, and in its compression. */
export const BODY_BYTES_CAUSES = {
  body_trailing_newline: {
    symptom: 'The body has gained or lost white space at its end.',
    proof: 'The signature is valid over the body with that white space added or removed.',
    fix: 'Keep the end of the body unchanged. An editor, a shell or a template has added or removed white space there.',
    fixIn: {
      'Node.js': 'Do not call trim() on the body. Verify the Buffer, not text from a template.',
      Python:
        'Do not call strip() on the body. print(body) adds a line feed; use sys.stdout.buffer.write(body).',
      PHP: 'End the file after the code without `?>`, because text after it is sent too. Do not call trim() on the body.',
      Go: 'json.NewEncoder(w).Encode(v) writes a line feed at the end. Call json.Marshal(v), then sign and send these bytes.',
      Ruby: 'puts adds a line feed. Use print or write, and do not call chomp or strip on the body.',
      Java: 'println adds a line ending. Write the signed bytes with OutputStream.write.',
      '.NET':
        'Set-Content and Out-File of PowerShell add CR LF. Use -NoNewline, or [IO.File]::WriteAllBytes.',
      curl: 'curl -d @file removes line endings. Use --data-binary @file, and sign with printf %s "$body" instead of echo.',
    },
  },
  body_leading_space: {
    symptom: 'The body has gained or lost white space at its start.',
    proof: 'The signature is valid over the body with that white space added or removed.',
    fix: 'Keep the start of the body unchanged. A template or a string literal that begins with a line feed has added white space there, or a trim function has removed it.',
    fixIn: {
      'Node.js':
        'Write the body with JSON.stringify instead of a template literal that begins with a line feed. Do not call trim() on the body.',
      Python:
        'Begin the literal with `"""\\` so that it does not begin with a line feed, or call json.dumps. Do not call strip() on the body.',
      PHP: 'Remove blank lines and spaces before `<?php` in every included file, because PHP sends them as part of the body.',
      Java: 'Call strip() on the text before it is signed, not after.',
    },
  },
  body_nul: {
    symptom: 'The body has gained or lost NUL bytes, or was cut at its first NUL byte.',
    proof:
      'The signature is valid over the body with NUL bytes added or removed, or over the part before the first NUL byte.',
    fix: 'Sign exactly as many bytes as are sent. A buffer of a fixed size was signed in full, or a C function took the NUL byte for the end of the text.',
    fixIn: {
      'Node.js': 'Sign buffer.subarray(0, bytesRead), not the whole buffer.',
      Go: 'n, err := r.Read(buffer) fills only buffer[:n]. Sign buffer[:n], or read with io.ReadAll.',
      Java: 'int n = in.read(buffer) fills only n bytes. Call mac.update(buffer, 0, n), or read with in.readAllBytes().',
      '.NET': 'MemoryStream.GetBuffer() returns the whole buffer. Use ToArray().',
      curl: 'curl -d @file removes NUL bytes. Use --data-binary @file.',
    },
  },
  body_line_endings: {
    symptom: 'The line endings of the body changed.',
    proof: 'The signature is valid over the body with other line endings.',
    fix: 'Keep CR and LF unchanged. Something has replaced the line endings in the body.',
    fixIn: {
      Python:
        "Open the file with open(path, 'rb'). Text mode replaces CR LF by LF, and LF by CR LF on Windows.",
      PHP: "Open the file with fopen($path, 'rb'). Do not read the body with file() and join its lines.",
      Ruby: 'Read the file with File.binread. Text mode replaces CR LF on Windows.',
      Java: 'Do not read the body with BufferedReader.readLine and join its lines. Read it with in.readAllBytes().',
      '.NET': 'Do not read the body with StreamReader.ReadLine. Read it into a byte array.',
      curl: 'curl -d @file removes line endings. Use --data-binary @file. For files in git, set `* -text` in .gitattributes.',
    },
  },
  body_bom: {
    symptom: 'The body has gained or lost a byte order mark.',
    proof: 'The signature is valid over the body with the byte order mark added or removed.',
    fix: 'Keep the start of the body unchanged. Something has added or removed a byte order mark.',
    fixIn: {
      'Node.js':
        'new TextDecoder() and Response.text() remove a byte order mark. Verify the bytes, for example from Response.arrayBuffer().',
      Python: "Encode with 'utf-8', not with 'utf-8-sig'.",
      PHP: 'Save the source files without a byte order mark, because PHP sends it as part of the body.',
      Java: 'Remove the byte order mark when the file is read: Java keeps it as \\uFEFF.',
      '.NET':
        'Encoding.UTF8 writes a byte order mark. Use new UTF8Encoding(false), or -Encoding utf8NoBOM in PowerShell 7.',
    },
  },
  body_charset: {
    symptom: 'The body was converted to another character set, or lost characters on the way.',
    proof:
      'The signature is valid over the body in the other character set, or with other characters replaced.',
    fix: 'Keep the bytes of the body unchanged. Something has decoded them in one character set and encoded them in another.',
    fixIn: {
      Express:
        'Verify the bytes: webhook() of geohook/express before body parsers. Do not collect chunks with body += chunk, which breaks characters that span two chunks.',
      Lambda:
        'For a REST API, add `*/*` to binaryMediaTypes. Without it, bytes that are not UTF-8 are lost before the function starts.',
      'Node.js':
        "Sign the bytes or text in 'utf8': createHmac('sha256', key).update(body, 'utf8'). The encodings 'latin1', 'binary', 'ascii' and 'utf16le' change characters.",
      Python:
        "Sign and send body.encode('utf-8'). requests encodes a str in the data argument as UTF-8 or Latin-1, so pass bytes. Do not use errors='replace' or errors='ignore'.",
      PHP: 'Do not call utf8_encode, utf8_decode or mb_convert_encoding between signing and sending.',
      Ruby: "Set the encoding to UTF-8 before signing: body.force_encoding('UTF-8'). Do not call encode with undef: :replace.",
      Java: 'Name the charset: body.getBytes(StandardCharsets.UTF_8). Without it, Java before 18 uses the charset of the system. DataOutputStream.writeUTF writes modified UTF-8.',
      '.NET':
        'Sign Encoding.UTF8.GetBytes(body). Encoding.Unicode is UTF-16, and Encoding.ASCII writes question marks.',
    },
  },
  body_normalized: {
    symptom: 'The accented letters of the body changed their Unicode normalization form.',
    proof: 'The signature is valid over the body in the normalization form NFC, NFD, NFKC or NFKD.',
    fix: 'Normalize the text before it is signed, or not at all. File names on a Mac, search indexes and some databases change the form.',
    fixIn: {
      'Node.js': 'Call normalize() before the text is signed, never on a body that was received.',
      Python: "Call unicodedata.normalize('NFC', text) before the text is signed, never after.",
      PHP: 'Call Normalizer::normalize before the text is signed, never after.',
      Java: 'Call Normalizer.normalize before the text is signed, never after.',
    },
  },
  body_decompressed: {
    symptom: 'The body was compressed or decompressed on its way.',
    proof: 'The signature is valid over the compressed or decompressed body.',
    fix: 'Sign and send the same bytes: disable compression at the sender and at every proxy in between.',
    fixIn: {
      Express:
        'Mount webhook() of geohook/express before body parsers: express.json() and express.raw() decompress the body unless inflate is false.',
      Fastify:
        'Register webhook() of geohook/fastify as a plugin outside the scope of @fastify/compress, which decompresses requests.',
      nginx:
        'Remove "gunzip" modules and Lua code that decompress requests. proxy_pass alone forwards the compressed body unchanged.',
      Python:
        'Sign the compressed body: gzip.compress(body) writes the time, so call it once and sign its result.',
      '.NET':
        'Remove app.UseRequestDecompression() for this path, and sign the content after the compression handler.',
      curl: 'Do not send the output of gzip if you signed the file before it was compressed.',
    },
  },
} as const
