/** Markup that would open a dialog, or load something from elsewhere, if it were not escaped. */
export const ATTACKS: readonly string[] = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(2)>',
  "'><svg/onload=alert(3)>",
  '</textarea></title></pre></option></select><script>alert(4)</script>',
  'javascript:alert(5)',
  '<img src="http://198.51.100.1/x"><link rel=stylesheet href="http://198.51.100.1/y">',
  '<form action="http://198.51.100.1/"><input autofocus onfocus=alert(6)>',
  '{{constructor.constructor("alert(7)")()}}<!--',
  '\u0000\u202e\ud800<base href="http://198.51.100.1/">',
]

/** Elements and attributes that only an attack would add. */
export const ADDED: string =
  'script:not([type=module]), img, link[href*="//"], base, [onerror], [onload], [onfocus], a[href^="javascript:"]'
