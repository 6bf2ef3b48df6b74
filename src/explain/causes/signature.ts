import type { CauseEntry } from './cause-entry.ts'

/** One line of code per language that signs a body in the right way. */
const SIGNING: CauseEntry['fixIn'] = {
  'Node.js':
    "Sign with `createHmac('sha256', key).update(body).digest('hex')`, where body is the text to send.",
  Python: 'Sign with `hmac.new(key.encode(), body, hashlib.sha256).hexdigest()`, and send the bytes of body.',
  PHP: "Sign with `hash_hmac('sha256', $body, $key)`: the body comes before the key.",
  Go: 'Sign with `mac := hmac.New(sha256.New, key); mac.Write(body); hex.EncodeToString(mac.Sum(nil))`.',
  Ruby: "Sign with `OpenSSL::HMAC.hexdigest('SHA256', key, body)`: the key comes before the body.",
  Java: 'Sign with `Mac.getInstance("HmacSHA256")` and `HexFormat.of().formatHex(mac.doFinal(body))`.',
  '.NET': 'Sign with `Convert.ToHexString(HMACSHA256.HashData(key, body))`.',
  curl: 'Sign with `openssl dgst -sha256 -hmac "$KEY" -r body.json | cut -d" " -f1`, and send with `--data-binary @body.json`.',
}

type SignatureCause =
  | 'signature_header_missing'
  | 'signature_in_other_header'
  | 'signature_in_query'
  | 'signature_in_form_field'
  | 'signature_in_body'
  | 'signature_encoding'
  | 'signature_truncated'
  | 'signature_percent_encoded'
  | 'signature_doubled'
  | 'signed_text'
  | 'algorithm'

/** Causes in the signature: where it is, how it is written, and how it was computed. */
export const SIGNATURE_CAUSES: Readonly<Record<SignatureCause, CauseEntry>> = {
  signature_header_missing: {
    symptom: 'The request has no signature.',
    proof:
      'The signature header is missing or empty, and no other value of the request is the valid signature.',
    fix: 'Set a signatureKey on the webhook, and make sure that proxies forward the signature header. Services sign from version 11.2.',
    fixIn: {
      nginx:
        'A location with `proxy_set_header` forwards all other headers too, but nginx drops headers with underscores in their names: set `underscores_in_headers on`, or use hyphens.',
      Lambda:
        'API Gateway and CloudFront forward only the headers that are configured: add the signature header.',
      curl: 'Send the header with `-H "X-Service: $SIGNATURE"`. With an empty value, curl sends no header.',
    },
  },
  signature_in_other_header: {
    symptom: 'The sender puts the signature into a header with another name.',
    proof: 'Another header contains the signature.',
    fix: "For x-esriHook-Signature, set the option profile to 'arcgis', which also answers handshakes. Otherwise set the option signatureHeader to the name of that header. If the header contains other words too, such as authorization or cookie, change the sender instead.",
    fixIn: {
      nginx: 'To rename a header, use `proxy_set_header X-Service $http_x_hub_signature_256`.',
      Lambda: 'API Gateway renames some headers to `x-amzn-remapped-…`: choose another name at the sender.',
    },
  },
  signature_in_query: {
    symptom: 'The sender puts the signature into the URL.',
    proof: 'A query parameter contains the signature.',
    fix: 'Send the signature in the signature header. A URL appears in the logs of servers and proxies.',
    fixIn: { curl: 'Replace the parameter by `-H "X-Service: $SIGNATURE"`.' },
  },
  signature_in_form_field: {
    symptom: 'The sender puts the signature into a form field that the receiver does not read.',
    proof: 'A form field contains the signature of the field before it, or of another part of the form.',
    fix: "For x-esriHook-Signature, set the option profile to 'arcgis', which also answers handshakes. Otherwise set the option signatureHeader to the name of that form field. The payload must be the first field, named payload, and the signature the last one, and the content type must be application/x-www-form-urlencoded.",
    fixIn: {
      Python:
        'Send the text of the form with `data=form.encode()` and the header content-type. A dict may be reordered.',
      curl: 'Send the form with `--data-binary`, which sets the content type and changes nothing.',
    },
  },
  signature_in_body: {
    symptom: 'The sender puts the signature into the JSON of the body.',
    proof: 'A member of the JSON contains the signature.',
    fix: 'Send the signature in the signature header, and sign the whole body. A body cannot contain its own signature.',
    fixIn: SIGNING,
  },
  signature_encoding: {
    symptom: 'The signature is right, but written in an encoding that the receiver does not read.',
    proof: 'The value contains the signature in another encoding, or with other characters around it.',
    fix: 'Send the signature as 64 hex digits or in standard base64, if the option encoding accepts it. The only prefix allowed is sha256=.',
    fixIn: {
      'Node.js':
        "Use `.digest('hex')`. A Buffer in a template becomes text, and JSON writes it as a list of numbers.",
      Python:
        'Use `.hexdigest()`. For base64, use `base64.b64encode(mac.digest()).decode()`: without decode, the text begins with b.',
      PHP: "Use `hash_hmac('sha256', $body, $key)`. For base64, pass true as the fourth argument before base64_encode.",
      Go: 'Use `hex.EncodeToString(sum)` or `base64.StdEncoding.EncodeToString(sum)`. `%v` writes a list of numbers.',
      Ruby: "Use `OpenSSL::HMAC.hexdigest('SHA256', key, body)`. For base64, use strict_encode64, which adds no line feeds.",
      Java: 'Use `HexFormat.of().formatHex(sum)`. BigInteger and Integer.toHexString drop zeros, and bytes are signed.',
      '.NET':
        'Use `Convert.ToHexString(hash)` or `Convert.ToBase64String(hash)`. BitConverter.ToString adds hyphens.',
      curl: 'Use `openssl dgst -r`, and cut off the file name: `cut -d" " -f1`.',
    },
  },
  signature_truncated: {
    symptom: 'The signature is too short.',
    proof: 'The value is a part of the valid signature, at least 8 bytes long.',
    fix: 'Send all 32 bytes of the signature. Look for a database column or a log field that cuts the value.',
    fixIn: {
      PHP: "Use `hash_hmac('sha256', $body, $key)` without substr.",
      Go: 'Use `hex.EncodeToString(sum)` for the whole sum. `%.16x` writes only a part of it.',
      Java: 'Use `HexFormat.of().formatHex(sum)` for all 32 bytes.',
    },
  },
  signature_percent_encoded: {
    symptom: 'The signature contains percent signs or spaces.',
    proof: 'The signature is valid after percent-decoding it again, or after replacing spaces by plus signs.',
    fix: 'Percent-encode the signature at most once, and never decode the header as a form.',
    fixIn: {
      'Node.js': 'Call encodeURIComponent at most once, and read the header without URLSearchParams.',
      Python: 'Call urllib.parse.quote at most once, and never unquote_plus.',
      PHP: 'Call rawurlencode at most once, and never urldecode: it turns plus signs into spaces.',
      Java: 'Never call URLDecoder.decode for a header: it turns plus signs into spaces.',
    },
  },
  signature_doubled: {
    symptom: 'The signature header arrives twice.',
    proof: 'One of several values of the header is the valid signature.',
    fix: 'Send the signature header only once. A proxy may be adding a second one.',
    fixIn: {
      nginx: 'Use proxy_set_header, which replaces the header of the request, in only one place.',
      Go: 'Use `req.Header.Set`, not `Add`.',
      Java: 'Use `setHeader`, not `header` or `addHeader`, in only one interceptor.',
    },
  },
  signed_text: {
    symptom: 'The sender signs other values together with the body, such as a timestamp or the URL.',
    proof:
      'The signature is valid over the body joined with values of the request, or over a part of the body.',
    fix: 'Sign the body alone: exactly the bytes to send, without a timestamp, id, method or URL. To verify deliveries of a service with its own scheme, use the library of that service.',
    fixIn: {
      ...SIGNING,
      nginx: 'If the sender must sign the URL, forward it: `proxy_set_header X-Original-URI $request_uri`.',
    },
  },
  algorithm: {
    symptom: 'The sender signs with another algorithm.',
    proof: 'The signature is valid if it is computed with that algorithm.',
    fix: 'Sign with HMAC-SHA256, with the signature key as the key and the body as the message.',
    fixIn: SIGNING,
  },
}
