/** Causes in bodies that are forms. */
export const BODY_FORM_CAUSES = {
  body_form_decoded: {
    symptom: 'A form parser decoded the body, or a form was encoded in two ways.',
    proof:
      'The signature is valid over the form before or after that parser, or over the same fields as another encoder or another order writes them.',
    fix: 'Verify the form as received, before a form parser decodes its fields.',
    fixIn: {
      Express:
        'Mount webhook() of geohook/express before app.use(express.urlencoded()): it verifies the bytes and parses the form itself.',
      Fastify:
        'Register webhook() of geohook/fastify as a plugin with its own prefix. Content type parsers such as @fastify/formbody have no effect on its routes.',
      Lambda:
        'Pass the event to webhook() of geohook/lambda, and do not decode event.body with URLSearchParams before.',
      Python:
        "Encode once, body = urllib.parse.urlencode(fields).encode(), then sign body and send it: requests.post(url, data=body, headers={'Content-Type': 'application/x-www-form-urlencoded', …}).",
      PHP: 'Encode once, $body = http_build_query($fields), then sign $body and pass it to CURLOPT_POSTFIELDS. Do not pass the array, because curl would encode it as multipart/form-data.',
      Go: 'Encode once, body := values.Encode(), then sign body and send it with http.Post. Do not call http.PostForm, which encodes again.',
      Ruby: 'Encode once, body = URI.encode_www_form(fields), then sign body and assign it to request.body. Do not call set_form_data, which encodes again.',
      Java: 'Encode the form once into a String, then sign and send its UTF-8 bytes with BodyPublishers.ofByteArray(bytes).',
      '.NET':
        'Call await content.ReadAsByteArrayAsync() on the FormUrlEncodedContent, sign these bytes, and send the same content.',
      curl: 'Write the encoded form into a file without a line ending, sign the file, and send it with --data-binary @file instead of --data-urlencode.',
    },
  },
  body_form_field: {
    symptom: 'One side signs the whole form, the other only its payload field or some of its fields.',
    proof:
      'The signature is valid over the form, over the payload field, or over a part of the form that contains it.',
    fix: 'Sign and verify the same bytes: the whole form if the signature is in a header, only the payload field if it is in a form field.',
    fixIn: {
      Express:
        'Mount webhook() of geohook/express before body parsers. Do not pass req.body.payload to verify(): it is only one field.',
      Fastify:
        'Register webhook() of geohook/fastify as a plugin. Do not pass request.body.payload to verify(): it is only one field.',
      Lambda: 'Pass the whole event to webhook() of geohook/lambda, not only the payload field of its form.',
      Python:
        'Write the form once, then sign and send it: body = urllib.parse.urlencode(fields).encode(), then hmac.new(key, body, hashlib.sha256).',
      PHP: "Write the form once, then sign and send it: $body = http_build_query($fields), then hash_hmac('sha256', $body, $key).",
      '.NET':
        'Sign the bytes of the FormUrlEncodedContent or MultipartFormDataContent, not the JSON that it contains.',
      curl: 'Send the signed file itself: --data-binary @payload.json with -H "content-type: application/json". -F sends a multipart form, and -d payload=… a form.',
    },
  },
} as const
