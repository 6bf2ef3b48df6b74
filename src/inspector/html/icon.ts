/** The icon of the page: a hook. */
export const ICON: string =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M5 2v7a3.5 3.5 0 0 0 7 0V8M10 10l2-2 2 2" fill="none" stroke="#0b6bcb" stroke-width="2"/></svg>'
