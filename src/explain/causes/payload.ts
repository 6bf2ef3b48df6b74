/** Causes in a body whose signature is valid: why the receiver cannot decode it. */
export const PAYLOAD_CAUSES = {
  payload_empty: {
    symptom: 'The body, or the field payload, is empty.',
    proof: 'It has no characters except white space and a byte order mark.',
    fix: 'Send the payload as the body. If the sender sends one, look for a proxy, a redirect or code that drops it.',
    fixIn: { curl: 'Use --data-binary @body.json with the @; -X POST alone sends no body.' },
  },
  payload_compressed: {
    symptom: 'The body is compressed, but the header that says so is missing.',
    proof: 'The body begins with the bytes of gzip or Zstandard.',
    fix: 'Disable compression at the sender or its proxy.',
  },
  payload_utf16: {
    symptom: 'The body is encoded as UTF-16.',
    proof: 'The body is JSON if it is decoded as UTF-16.',
    fix: 'Encode the body as UTF-8.',
    fixIn: { '.NET': 'Use Encoding.UTF8: Encoding.Unicode is UTF-16.' },
  },
  payload_charset: {
    symptom: 'The body is not valid UTF-8.',
    proof: 'A byte of the body is invalid in UTF-8.',
    fix: 'Encode the body as UTF-8.',
    fixIn: {
      PHP: "Convert texts with mb_convert_encoding($text, 'UTF-8', 'ISO-8859-1') before json_encode.",
      Java: 'Call getBytes(StandardCharsets.UTF_8): older versions use the charset of the system by default.',
      Python: 'Call body.encode("utf-8"): http.client encodes text as Latin-1.',
    },
  },
  payload_bom: {
    symptom: 'The body begins with two byte order marks.',
    proof: 'The body is JSON without them. geohook ignores one byte order mark.',
    fix: 'Write the body without a byte order mark.',
    fixIn: { '.NET': 'Use new UTF8Encoding(false), which writes no byte order mark.' },
  },
  payload_double_encoded: {
    symptom: 'The payload is encoded as JSON twice.',
    proof: 'The payload is a JSON text whose content is a JSON object or array.',
    fix: 'Encode the payload once.',
    fixIn: {
      Python: 'With requests, pass data=text for text that already is JSON; json=text encodes it again.',
      'Node.js': 'Call JSON.stringify once. Libraries such as axios call it for objects.',
    },
  },
  payload_scalar: {
    symptom: 'The payload is valid JSON, but not an object or array.',
    proof: 'The payload is a number, a text, true, false or null.',
    fix: 'Send a JSON object or array.',
  },
  payload_base64: {
    symptom: 'The payload is JSON in base64.',
    proof: 'The payload is a JSON object or array if it is decoded from base64.',
    fix: 'Send the JSON itself.',
    fixIn: { Lambda: 'Send the decoded body if isBase64Encoded is true.' },
  },
  payload_percent_encoded: {
    symptom: 'The payload is percent-encoded without the name of a form field.',
    proof: 'The payload is a JSON object or array if it is percent-decoded.',
    fix: 'Send the JSON itself, or a form with the field payload.',
  },
  payload_markup: {
    symptom: 'The body is an HTML page or XML, often an error page of a server or proxy.',
    proof: 'The body begins with a tag.',
    fix: 'Send the payload as JSON. Look at the page: it may name the error of the program that should write the payload.',
  },
  payload_printed: {
    symptom: 'The sender prints an object of its language in place of writing JSON.',
    proof: 'The body has the notation of that language, and is JSON otherwise.',
    fix: 'Write the payload with a JSON library.',
    fixIn: {
      Python: 'Send json.dumps(payload) in place of str(payload), or pass json=payload to requests.',
      'Node.js': 'Send JSON.stringify(payload).',
      Ruby: 'Send payload.to_json or JSON.generate(payload) in place of payload.to_s.',
      PHP: 'Send json_encode($payload).',
      Go: 'Send the result of json.Marshal in place of fmt.Sprint.',
    },
  },
  payload_cut_off: {
    symptom: 'The JSON ends early.',
    proof: 'The text is the beginning of JSON, and the rest is missing.',
    fix: 'Send the whole body. Look for a buffer, a database column or a content-length that cuts it, such as a length in characters in place of bytes.',
  },
  payload_several: {
    symptom: 'The body has several JSON documents, for example one on each line (NDJSON).',
    proof: 'Each document is JSON.',
    fix: 'Send one array, or each document in a request of its own.',
  },
  payload_trailing_text: {
    symptom: 'Text follows after the JSON.',
    proof: 'The JSON is complete, and other text follows.',
    fix: 'Send only the JSON. Look for a buffer with the rest of an older, longer body.',
  },
  payload_trailing_comma: {
    symptom: 'The JSON has a comma before a closing bracket.',
    proof: 'The payload is JSON without that comma.',
    fix: 'Write the payload with a JSON library, or remove the comma from the template.',
  },
  payload_comment: {
    symptom: 'The JSON has a comment.',
    proof: 'The payload is JSON without its comments.',
    fix: 'Remove the comments: JSON has none.',
  },
  payload_not_a_number: {
    symptom: 'The JSON has NaN, Infinity or undefined as a value.',
    proof: 'The payload is JSON except for such values.',
    fix: 'Write null in place of such values.',
    fixIn: { Python: 'Pass allow_nan=False to json.dumps, and replace NaN and Infinity by None.' },
  },
  payload_unquoted_name: {
    symptom: 'The JSON has a name without quotes, as in JavaScript.',
    proof: 'The payload is JSON if such names are quoted.',
    fix: 'Write the payload with a JSON library, which quotes all names.',
    fixIn: { 'Node.js': 'Send JSON.stringify(payload).' },
  },
  payload_control_character: {
    symptom: 'A text in the JSON has a line feed, a tab or another control character that is not escaped.',
    proof: 'The payload is JSON if such characters are escaped.',
    fix: 'Write the payload with a JSON library, which escapes them.',
  },
  payload_escape: {
    symptom: 'A text in the JSON has an invalid escape sequence, for example in a Windows path.',
    proof: 'The payload is JSON except for such sequences.',
    fix: 'Write the payload with a JSON library, which writes a backslash as two.',
  },
  payload_too_deep: {
    symptom: 'The payload is nested too deep.',
    proof: 'The payload has more than 64 levels of objects and arrays.',
    fix: 'Send a flatter payload.',
  },
  payload_forbidden_key: {
    symptom: 'A member of the payload could change the prototype of objects.',
    proof: 'The payload has a member __proto__, or a member constructor that has a member prototype.',
    fix: 'Remove the key from the payload.',
  },
  payload_token: {
    symptom: 'The body could be the token of a handshake.',
    proof: 'The body has only characters that tokens may have.',
    fix: 'Send a JSON object or array, or a form.',
  },
  form_empty: {
    symptom: 'The form has no fields.',
    proof: 'The body has only ampersands.',
    fix: 'Send the JSON in the field payload.',
  },
  form_too_many_fields: {
    symptom: 'The form has more than 1000 fields.',
    proof: 'The number of fields in the body.',
    fix: 'Send the JSON in one field, payload. Percent-encode its ampersands.',
  },
  form_percent_encoding: {
    symptom: 'A form field is not percent-encoded correctly.',
    proof: 'A percent sign has no two hex digits after it.',
    fix: 'Percent-encode each name and value, also percent signs.',
    fixIn: { curl: 'Use --data-urlencode payload@body.json.' },
  },
  form_charset: {
    symptom: 'A form field was percent-encoded from another charset than UTF-8.',
    proof: 'The percent-decoded bytes are not valid UTF-8.',
    fix: 'Encode text as UTF-8 before percent-encoding it.',
  },
  form_two_payloads: {
    symptom: 'The form has two fields named payload.',
    proof: 'The name payload occurs more than once.',
    fix: 'Send one field payload. Percent-encode its value, so that ampersands in it do not begin new fields.',
  },
  form_double_encoded: {
    symptom: 'The field payload is percent-encoded twice.',
    proof: 'The field is JSON if it is percent-decoded once more.',
    fix: 'Percent-encode the field once: libraries that build forms do it themselves.',
  },
} as const
