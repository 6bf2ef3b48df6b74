/** Causes in the method, the URL and the headers of a request whose signature is not at fault. */
export const CONTENT_CAUSES = {
  content_type_missing: {
    symptom: 'The request has no content type.',
    proof: 'The header content-type is missing or empty.',
    fix: 'Send the header content-type: application/json.',
    fixIn: {
      Java: 'Call .header("content-type", "application/json") on the HttpRequest builder: it sets none by default.',
      Go: 'Pass "application/json" to http.Post, or call req.Header.Set("Content-Type", "application/json").',
    },
  },
  content_type_form_for_json: {
    symptom:
      'The body is JSON, but the content type says that it is a form. It is the default of curl -d and of some HTTP libraries.',
    proof: 'The content type is application/x-www-form-urlencoded, and the body is JSON.',
    fix: "Send the header content-type: application/json. With curl, add -H 'content-type: application/json'.",
    fixIn: {
      curl: "Use --json @body.json, or -H 'content-type: application/json' --data-binary @body.json. The option -d also removes line feeds, which invalidates the signature.",
      Python: 'Pass headers={"content-type": "application/json"}: urllib.request sends a form by default.',
      PHP: 'Set CURLOPT_HTTPHEADER to ["content-type: application/json"]: CURLOPT_POSTFIELDS sends a form by default.',
      Ruby: 'Pass {"content-type" => "application/json"} to Net::HTTP.post, which sends a form by default.',
    },
  },
  content_type_json_for_form: {
    symptom: 'The body is a form, but the content type says that it is JSON.',
    proof: 'The content type is JSON, and the body has only fields of a form.',
    fix: 'Send the header content-type: application/x-www-form-urlencoded, or write the body as JSON.',
  },
  content_type_text: {
    symptom:
      'The body is JSON, but the content type is text/plain. It is the default of fetch for a body that is text.',
    proof: 'The content type is text/plain, and the body is JSON.',
    fix: 'Send the header content-type: application/json.',
    fixIn: {
      'Node.js':
        "Pass headers: { 'content-type': 'application/json' } to fetch, which sends text/plain for text.",
      '.NET': 'Create the content with new StringContent(json, Encoding.UTF8, "application/json").',
    },
  },
  content_type_binary: {
    symptom: 'The body is JSON, but the content type says that it is arbitrary bytes.',
    proof: 'The content type is application/octet-stream, and the body is JSON.',
    fix: 'Send the header content-type: application/json.',
  },
  content_type_multipart: {
    symptom: 'The body is a multipart form, as for file uploads.',
    proof: 'The content type begins with multipart/.',
    fix: 'Send JSON, or a form of the type application/x-www-form-urlencoded.',
    fixIn: {
      curl: 'Use --data-urlencode payload@body.json in place of -F.',
      Python: 'With requests, pass data= in place of files=.',
      'Node.js': 'Pass URLSearchParams to fetch in place of FormData.',
      PHP: 'Pass http_build_query($fields) to CURLOPT_POSTFIELDS: an array becomes a multipart form.',
    },
  },
  content_type_doubled: {
    symptom: 'The request has more than one content type.',
    proof: 'The header content-type contains several values, joined by commas.',
    fix: 'Send the header content-type once. A proxy or a default of the HTTP library may add a second one.',
  },
  content_type_charset: {
    symptom: 'The content type names another charset than UTF-8.',
    proof: 'The parameter charset of the header content-type.',
    fix: 'Encode the body as UTF-8, and send charset=utf-8 or no charset.',
    fixIn: {
      Java: 'Encode with StandardCharsets.UTF_8: StringEntity of Apache HttpClient uses ISO-8859-1 by default.',
      '.NET': 'Pass Encoding.UTF8 to StringContent.',
    },
  },
  content_type_misspelt: {
    symptom: 'The content type is misspelt.',
    proof:
      'The media type differs from a supported one in one or two characters or is a known misspelling, or its parameter does not follow after a semicolon, or it has a comma.',
    fix: 'Send exactly application/json or application/x-www-form-urlencoded. Parameters follow after a semicolon.',
  },
  content_encoding_misused: {
    symptom: 'The header content-encoding names a charset or a transfer format.',
    proof: 'The value is a known charset or transfer format, not a compression.',
    fix: 'Leave out the header content-encoding. The charset belongs into content-type, and chunked into transfer-encoding.',
    fixIn: {
      '.NET': 'Do not add the charset to Content.Headers.ContentEncoding; StringContent sets content-type.',
    },
  },
  content_encoding_wrong: {
    symptom: 'The header content-encoding says that the body is compressed, but it is not.',
    proof: 'The header names a compression, and the body is JSON.',
    fix: 'Leave out the header content-encoding. If a proxy decompresses bodies, let it remove the header.',
    fixIn: { Lambda: 'Pass the body to geohook as the event has it, and do not decompress it before.' },
  },
  method_preflight: {
    symptom: 'A browser asks whether it may send the request (CORS preflight).',
    proof: 'The method is OPTIONS, with the header access-control-request-method.',
    fix: 'Send deliveries from a server: code in a browser would reveal the key.',
  },
  handshake_not_enabled: {
    symptom: 'The sender sends a handshake, but the receiver does not answer handshakes.',
    proof: 'The method is GET, and the query has the parameter crc_token.',
    fix: "Set the option profile to 'arcgis', or to a profile with a handshake.",
  },
  handshake_token_missing: {
    symptom: 'A GET request has no token, for example one of a browser or a health check.',
    proof: "The query has no parameter with the profile's name.",
    fix: 'Call this URL with GET only for handshakes. Give health checks a URL of their own.',
  },
  handshake_token_doubled: {
    symptom: 'A handshake has several tokens.',
    proof: 'The query has the parameter more than once.',
    fix: 'Send one token. A proxy or a redirect may repeat the query.',
  },
  handshake_token_empty: {
    symptom: 'The token of a handshake is empty.',
    proof: 'The query has the parameter without a value.',
    fix: 'Send the token as the value of the parameter.',
  },
  handshake_token_invalid: {
    symptom: 'The token of a handshake has characters or a length that geohook does not sign.',
    proof:
      'The token has other characters than letters, digits and ._~+/:- with up to two = at its end, or more than 512 characters before these.',
    fix: 'Send a token of at most 512 letters, digits or ._~+/:- and at most two = after them, and percent-encode it once.',
  },
  handshake_url_too_long: {
    symptom: 'The URL of a handshake is too long.',
    proof: 'The URL has more than 8,000 characters.',
    fix: 'Send a shorter URL: the token has at most 514 characters.',
  },
} as const
