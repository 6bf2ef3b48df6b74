import type { CauseEntry } from './cause-entry.ts'

type KeyCause =
  | 'key_whitespace'
  | 'key_invisible'
  | 'key_quotes'
  | 'key_copied'
  | 'key_prefix'
  | 'key_encoding'
  | 'key_html'
  | 'key_escaped'
  | 'key_list'
  | 'key_truncated'
  | 'key_hashed'
  | 'key_case'
  | 'key_placeholder'
  | 'key_empty'
  | 'key_previous'

/** Causes in the signature key. */
export const KEY_CAUSES: Readonly<Record<KeyCause, CauseEntry>> = {
  key_whitespace: {
    symptom:
      'The key has white space, a line ending or a byte order mark around it or inside it on one side.',
    proof: 'The signature is valid with that white space added, removed or replaced.',
    fix: 'Store the same key on both sides, without white space, a line ending or a byte order mark around it.',
    fixIn: {
      'Node.js': "Read a key file with `readFileSync(file, 'utf8').trim()`.",
      Python:
        'Use `os.environ["SIGNATURE_KEY"].strip()`, or `open(file, encoding="utf-8-sig").read().strip()`.',
      PHP: "Use `trim(getenv('SIGNATURE_KEY'))`, or `trim(file_get_contents($file))`.",
      Go: 'Use `strings.TrimSpace(os.Getenv("SIGNATURE_KEY"))`, or `bytes.TrimSpace` for a key file.',
      Ruby: "Use `ENV.fetch('SIGNATURE_KEY').strip`, or `File.read(file).strip`.",
      Java: 'Use `System.getenv("SIGNATURE_KEY").strip()`, or `Files.readString(file).strip()`.',
      '.NET':
        'Use `Environment.GetEnvironmentVariable("SIGNATURE_KEY").Trim()`, or `File.ReadAllText(file).Trim()`.',
      curl: 'Write the key with `printf %s "$SIGNATURE_KEY"`: `echo` adds a line feed.',
    },
  },
  key_invisible: {
    symptom: 'The key was copied together with invisible characters or no-break spaces.',
    proof: 'The signature is valid with these characters added, removed or replaced.',
    fix: 'Type the key again, or copy it from plain text: a web page, a chat or a PDF file has added invisible characters to it.',
    fixIn: {
      'Node.js': 'Print `JSON.stringify(key)` and `key.length` to find the characters.',
      Python: 'Print `ascii(key)` to find the characters.',
      PHP: 'Print `bin2hex($key)` to find the bytes of the characters.',
      Go: 'Print the key with `%+q` to find the characters.',
      Ruby: 'Print `key.dump` to find the characters.',
      curl: 'Run `printf %s "$SIGNATURE_KEY" | od -c` to find the bytes of the characters.',
    },
  },
  key_quotes: {
    symptom: 'One side takes the quotes around the key as a part of the key.',
    proof: 'The signature is valid with quotes added, removed or replaced.',
    fix: 'Remove the quotes around the key. Docker env files, CI settings and web forms take quotes as a part of the value.',
    fixIn: {
      'Node.js':
        'Pass the string itself, not `JSON.stringify(key)`. `node --env-file` removes quotes, `docker --env-file` does not.',
      Python:
        'configparser keeps quotes: remove them from the file. Use `key.decode()`, not `str(key)`, for bytes.',
      PHP: 'Read the file with `parse_ini_file`, which removes quotes. Do not pass the key through `json_encode`.',
      Go: 'Remove quotes with `strconv.Unquote`, or remove them from the file.',
      Java: 'java.util.Properties keeps quotes: remove them from the file.',
      curl: 'Read an env file with `. ./.env`, which removes quotes, not with `cut -d= -f2`.',
    },
  },
  key_copied: {
    symptom: 'The key was copied together with its name, a comment or punctuation.',
    proof: 'The signature is valid with this text added or removed.',
    fix: 'Copy only the key itself, without the name of the setting, a scheme such as Bearer, a comment or punctuation around it.',
    fixIn: {
      Python: 'configparser keeps comments after a value: put them on a line of their own.',
      Java: 'java.util.Properties keeps comments after a value: put them on a line of their own.',
      curl: 'Read one setting from an env file with `. ./.env`, not with `grep`, which returns the whole line.',
    },
  },
  key_prefix: {
    symptom: 'One side removes a prefix of the key, such as whsec_ or base64:, or decodes what follows it.',
    proof: 'The signature is valid with the prefix added or removed, or with the decoded rest.',
    fix: 'Use the whole key, with its prefix, as text on both sides. A library for Standard Webhooks decodes a key with whsec_, so give this webhook a key without a prefix.',
    fixIn: {
      'Node.js':
        "To verify a decoded key, pass `Buffer.from(key.slice(prefix.length), 'base64')` as signatureKey.",
      PHP: 'Laravel decodes keys with base64: use a setting of your own for the signature key, not APP_KEY.',
    },
  },
  key_encoding: {
    symptom: 'One side decodes or encodes the key before using it.',
    proof: 'The signature is valid with the decoded or encoded key.',
    fix: 'Use the characters of the key as they are, in UTF-8, on both sides. Do not decode the key from hex or base64.',
    fixIn: {
      'Node.js':
        "Use `createHmac('sha256', key)` with the string. For bytes, pass the same Buffer on both sides.",
      Python:
        'Use `key.encode()`, not `bytes.fromhex(key)`, `base64.b64decode(key)` or `key.encode("utf-16")`.',
      PHP: "Use `hash_hmac('sha256', $body, $key)` with the string, not with `hex2bin($key)` or `base64_decode($key)`.",
      Go: 'Use `hmac.New(sha256.New, []byte(key))`, not the result of `hex.DecodeString`.',
      Ruby: "Use `OpenSSL::HMAC.hexdigest('SHA256', key, body)` with the string, in UTF-8.",
      Java: 'Use `key.getBytes(StandardCharsets.UTF_8)`. Load properties with a Reader in UTF-8, because an InputStream is read as Latin-1.',
      '.NET': 'Use `Encoding.UTF8.GetBytes(key)`, not `Encoding.Unicode` or `Convert.FromBase64String`.',
      curl: 'Use `openssl dgst -sha256 -hmac "$SIGNATURE_KEY"`. Kubernetes secrets: `printf %s`, not `echo`, before `base64`.',
    },
  },
  key_html: {
    symptom: 'The key contains a character such as & or a quote, and one side escaped it for HTML.',
    proof: 'The signature is valid with the HTML entities encoded or decoded.',
    fix: 'Use the characters of the key as they are. Escape the key only where it is shown on a page, never where it is stored.',
    fixIn: {
      Python: 'Do not pass the key through `html.escape` before it is stored.',
      PHP: 'Do not pass the key through `htmlspecialchars` or `FILTER_SANITIZE_SPECIAL_CHARS` before it is stored.',
      Go: 'Write settings files with text/template, not with html/template.',
      Ruby: 'Do not pass the key through `CGI.escapeHTML` before it is stored.',
      '.NET': 'Do not pass the key through `WebUtility.HtmlEncode` before it is stored.',
    },
  },
  key_escaped: {
    symptom:
      'The key contains a backslash, $, # or %, and one side took it as an escape sequence, a variable or a comment.',
    proof: 'The signature is valid with these characters escaped or interpreted.',
    fix: 'Quote the key as the settings file or the shell requires, so that both sides have the same characters. The safest keys have only letters and digits.',
    fixIn: {
      Python: 'configparser takes %% as %: use `ConfigParser(interpolation=None)`.',
      PHP: 'Write the key in single quotes: in double quotes, PHP replaces $name.',
      Java: 'java.util.Properties takes a backslash as an escape character: write each backslash twice.',
      curl: 'Write the key in single quotes, and read it with `read -r`: a shell replaces $name in double quotes.',
    },
  },
  key_list: {
    symptom: 'One side has several keys in one text, or a key twice.',
    proof: 'The signature is valid with one part of that text, or with the keys of this side joined.',
    fix: 'Pass several keys as a list, with one key per item, and use one of them on the sender.',
    fixIn: {
      'Node.js': "Split the setting: `signatureKey: process.env.SIGNATURE_KEYS.split(',')`.",
    },
  },
  key_truncated: {
    symptom:
      'The key was cut or padded to a fixed length, for example by a database column, a form field or a cipher.',
    proof: 'The signature is valid with the key cut or filled up to a common length.',
    fix: 'Store the whole key at the sender: use a longer column of variable length, or generate a shorter key.',
  },
  key_hashed: {
    symptom: 'The sender hashes the key before it signs.',
    proof: 'The signature is valid with a hash of the key.',
    fix: 'Sign with the key itself, not with a hash of it. Look for a database that stores only the hash of the key.',
  },
  key_case: {
    symptom: 'The key was typed or stored with other upper and lower case, or a UUID in another form.',
    proof: 'The signature is valid with the key in that case or form.',
    fix: 'Copy the key exactly: upper and lower case matter, and so do the hyphens of a UUID.',
    fixIn: {
      Python: 'Use `str(uuid)`, which writes lower case with hyphens, and not `uuid.hex` or `uuid.bytes`.',
      '.NET': 'Use `guid.ToString("D")`, which writes lower case with hyphens.',
    },
  },
  key_placeholder: {
    symptom: 'One side has a word or a placeholder in place of a key, because a variable is not set.',
    proof:
      'The signature is valid with such a text, or the key of this side is such a text and nothing else was found.',
    fix: 'Set the signature key on the side that lacks it, and let the program stop if it is not set. A key that anyone can guess protects nothing.',
    fixIn: {
      'Node.js':
        'Do not write an optional value into a template literal or String(): throw if `process.env.SIGNATURE_KEY` is not set. Await a key that is loaded asynchronously.',
      Python:
        'Use `os.environ["SIGNATURE_KEY"]`, which raises KeyError, not `str(os.environ.get("SIGNATURE_KEY"))`.',
      PHP: "Check `getenv('SIGNATURE_KEY') !== false`.",
      Go: 'Use `os.LookupEnv`, and stop if the variable is not set.',
      Ruby: "Use `ENV.fetch('SIGNATURE_KEY')`, which raises KeyError.",
      Java: 'Use `Objects.requireNonNull(System.getenv("SIGNATURE_KEY"))`, and do not concatenate a value that can be null.',
      curl: 'Run the script with `set -u`, and write `"$SIGNATURE_KEY"` in double quotes: in single quotes, a shell does not replace variables.',
    },
  },
  key_empty: {
    symptom: 'One side has no key.',
    proof: 'The key of this side is empty, or the signature is valid with an empty key.',
    fix: 'Set the signature key on the side where it is empty. Look for an environment variable that is not set.',
    fixIn: {
      'Node.js':
        "Do not use `process.env.SIGNATURE_KEY ?? ''`: throw if it is not set. `Buffer.from(key, 'hex')` is empty for text that is not hex.",
      Python:
        'Use `os.environ["SIGNATURE_KEY"]`, which raises KeyError, not `os.environ.get("SIGNATURE_KEY", "")`.',
      PHP: "Check `getenv('SIGNATURE_KEY') !== false`: hash_hmac takes false as an empty key.",
      Go: 'Use `os.LookupEnv`: `os.Getenv` returns an empty string for a variable that is not set.',
      Ruby: "Use `ENV.fetch('SIGNATURE_KEY')`, not `ENV['SIGNATURE_KEY'].to_s`.",
      curl: 'Run the script with `set -u`: the shell then stops if a variable is not set.',
    },
  },
  key_previous: {
    symptom: 'The sender still signs with an older key. The receiver accepts the delivery.',
    proof: 'The signature is valid with a key of the list that is not the first one.',
    fix: 'Set the newest key on the webhook, then remove the older key from the receiver.',
  },
}
