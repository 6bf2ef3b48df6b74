/** Causes in the content of the body: it was parsed, wrapped, encoded or lost. */
export const BODY_CONTENT_CAUSES = {
  body_changed: {
    symptom: 'The body on this side differs from the sent body in a way that no known mistake explains.',
    proof:
      'The header content-length, content-digest, repr-digest, digest or content-md5 does not fit the body.',
    fix: 'Verify the bytes as they arrive, before other code or a proxy changes or cuts them. If a proxy decompresses the body, disable that.',
    fixIn: {
      Express:
        'Mount webhook() of geohook/express before app.use(express.json()). After a body parser that does not take the content type, req.body is {}.',
      Fastify:
        'Register webhook() of geohook/fastify as a plugin: it reads the bytes before content type parsers.',
      Lambda: 'Pass the event to webhook() of geohook/lambda, which decodes base64.',
    },
  },
  body_reserialized: {
    symptom: 'Something parsed the JSON and wrote it again.',
    proof: 'The signature is valid over the same JSON as another serializer writes it.',
    fix: 'Verify the bytes as received: mount geohook before anything that parses the body.',
    fixIn: {
      Express:
        'Mount webhook() of geohook/express before app.use(express.json()). Do not verify JSON.stringify(req.body).',
      Fastify:
        'Register webhook() of geohook/fastify as a plugin: it reads the bytes before content type parsers. Do not verify JSON.stringify(request.body).',
      Lambda:
        "Pass the event to webhook() of geohook/lambda. Without it, verify Buffer.from(event.body, event.isBase64Encoded ? 'base64' : 'utf8'), not JSON.stringify of the parsed body.",
      nginx: 'Forward the body with proxy_pass alone. Lua or njs code must not decode and encode the JSON.',
      'Node.js':
        "Write once: const body = JSON.stringify(payload), then sign body and send it with fetch(url, { method: 'POST', body }).",
      Python:
        'Write once: body = json.dumps(payload).encode(), then sign body and send it with requests.post(url, data=body). json=payload would write it again.',
      PHP: 'Write once: $body = json_encode($payload), then sign $body and pass it to CURLOPT_POSTFIELDS. In Laravel and Guzzle, use the option body, not json.',
      Go: 'Write once: body, err := json.Marshal(payload), then sign body and send it with bytes.NewReader(body).',
      Ruby: 'Write once: body = JSON.generate(payload), then sign body and send it. In Faraday, remove the :json request middleware.',
      Java: 'Write once: byte[] body = mapper.writeValueAsBytes(payload), then sign and send body. Do not pass the object to RestTemplate or WebClient.',
      '.NET':
        'Write once: byte[] body = JsonSerializer.SerializeToUtf8Bytes(payload), then sign body and send new ByteArrayContent(body). PostAsJsonAsync would write it again.',
      curl: 'Send the signed file: --data-binary @payload.json. Do not pass it through jq after it was signed.',
    },
  },
  body_json_string: {
    symptom: 'JSON is inside a JSON string on one side: the body was written as JSON twice.',
    proof: 'The signature is valid over the text inside the JSON string, or over the body as a JSON string.',
    fix: 'Write the payload as JSON exactly once, and sign and send the same text.',
    fixIn: {
      Express:
        'Mount webhook() of geohook/express before body parsers. Do not verify JSON.stringify(req.body) if req.body is already a string.',
      'Node.js':
        'If body is already a string, send it as it is: axios and got write it as JSON again with the option json or the content type application/json.',
      Python: 'Send data=body, not json=body: requests.post(url, json=body) writes a str as JSON again.',
      PHP: 'Do not call json_encode on a text that is JSON already.',
      Java: 'Do not pass a String of JSON to mapper.writeValueAsBytes. Send its UTF-8 bytes.',
      '.NET':
        'Send new StringContent(json), not PostAsJsonAsync(url, json), which writes the string as JSON again.',
    },
  },
  body_event: {
    symptom:
      'One side has the event of a function host, a queue or a wrapper, the other only the body inside it.',
    proof:
      'The signature is valid over one member of the received JSON, or over JSON that contains the body as a member.',
    fix: 'Verify the body of the request, not the event that contains it. A sender must sign the whole text that it sends, not only one member.',
    fixIn: {
      Lambda:
        "Use webhook() of geohook/lambda as the handler. Without it, verify Buffer.from(event.body, event.isBase64Encoded ? 'base64' : 'utf8'), not JSON.stringify(event).",
      Express:
        'On Google Cloud Functions, use webhook() of geohook/node: it reads req.rawBody. For Pub/Sub, verify Buffer.from(req.body.message.data, "base64").',
      'Node.js':
        'On Azure Functions, use webhook() of geohook/azure. Without it, verify Buffer.from(await request.arrayBuffer()). In a consumer of SQS, verify record.body; of SNS, record.Sns.Message.',
      Python:
        "In a function, verify base64.b64decode(event['body']) if event['isBase64Encoded'], otherwise event['body'].encode(). A sender signs the text that it sends, not payload['data'].",
      Java: 'Verify event.getBody(), decoded with Base64.getDecoder() if event.getIsBase64Encoded(), not the event written as JSON.',
      Go: 'Verify request.Body of events.APIGatewayProxyRequest, decoded from base64 if request.IsBase64Encoded.',
    },
  },
  body_base64: {
    symptom: 'The body is in base64 or hex on one side.',
    proof: 'The signature is valid over the decoded body, or over the body in base64 or hex.',
    fix: 'Sign and verify the bytes that are sent. If a host passes the body in base64, decode it before you verify it.',
    fixIn: {
      Lambda:
        "Use webhook() of geohook/lambda, which decodes the body. Without it, verify Buffer.from(event.body, event.isBase64Encoded ? 'base64' : 'utf8').",
      'Node.js': "Do not pass body.toString('base64') to createHmac or verify. Pass the Buffer.",
      Python: 'Sign body, not base64.b64encode(body), or send the base64 text that you signed.',
      PHP: "Sign $body, not base64_encode($body): hash_hmac('sha256', $body, $key).",
      Java: 'Call mac.doFinal(body), not mac.doFinal(Base64.getEncoder().encode(body)).',
      '.NET': 'Call HMACSHA256.HashData(key, body), not with the bytes of Convert.ToBase64String(body).',
    },
  },
  body_stringified: {
    symptom: 'An object was converted to text without a JSON serializer, such as to [object Object].',
    proof: 'The signature is valid over that text, or the body on this side is the text [object Object].',
    fix: 'Sign and verify the bytes of the body. Something has converted an object or a byte array to text.',
    fixIn: {
      Express:
        'Mount webhook() of geohook/express before body parsers. String(req.body) is [object Object] after express.json().',
      Fastify:
        'Register webhook() of geohook/fastify as a plugin. String(request.body) is [object Object], because Fastify parses JSON.',
      'Node.js':
        'Write const body = JSON.stringify(payload), then sign and send body. String(payload) is [object Object], and String(uint8Array) is a list of numbers.',
      Python:
        "Sign json.dumps(payload).encode(). str(payload) has single quotes, and str(body) of bytes is b'…'.",
      PHP: 'Sign json_encode($payload). An array that is converted to text is the word Array.',
      Go: 'Sign the result of json.Marshal(payload), not of fmt.Sprint(payload).',
      Ruby: 'Sign JSON.generate(payload), not payload.to_s.',
      Java: 'Sign mapper.writeValueAsBytes(payload), not payload.toString().',
    },
  },
  body_escaped: {
    symptom: 'Characters of the body were escaped or unescaped for HTML, for a database or for a URL.',
    proof: 'The signature is valid over the body with these escapes added or removed.',
    fix: 'Sign and send the text without escapes for HTML, SQL or URLs. Escape it only where it is displayed or stored.',
    fixIn: {
      Express:
        'Mount webhook() of geohook/express before middleware that sanitizes the body, such as a filter against cross-site scripting.',
      PHP: 'Read the body with file_get_contents("php://input"). Do not call htmlspecialchars, addslashes, stripslashes or wp_unslash on it.',
      Python:
        'Do not call html.escape or urllib.parse.quote on the body. In Django templates, use `{{ payload|safe }}` or json.dumps.',
      'Node.js':
        'In templates, write the JSON without HTML escapes, such as `{{{payload}}}` in Handlebars and `<%- payload %>` in EJS.',
      Ruby: 'In ERB templates, write payload.to_json.html_safe, or use JSON.generate without a template.',
      Java: 'In templates, disable HTML escapes for JSON, or write it with Jackson.',
    },
  },
  body_empty: {
    symptom: 'The body is empty on one side.',
    proof:
      'The body of this side is empty although the request had one, or the signature is valid over an empty body.',
    fix: 'Forward the complete body: on one side it is empty. Look for code that reads the body before geohook does.',
    fixIn: {
      Express: 'Mount webhook() of geohook/express before anything that reads the stream of the request.',
      Fastify:
        'Register webhook() of geohook/fastify as a plugin, outside the scope of hooks that read request.raw.',
      Lambda:
        'Pass the event unchanged to webhook() of geohook/lambda. event.body is null if an authorizer or a mapping template has dropped the body.',
      nginx:
        'Remove "proxy_pass_request_body off", which is meant for auth_request, from the location of the webhook.',
      Python:
        'Call request.get_data() before request.form or request.stream in Flask: the stream can be read only once.',
      PHP: 'php://input is empty for multipart/form-data. Send application/json.',
      Java: 'Wrap the request, for example in ContentCachingRequestWrapper: getInputStream() can be read only once.',
      '.NET':
        'Call Request.EnableBuffering() and set Request.Body.Position = 0 before the body is read a second time.',
    },
  },
} as const
