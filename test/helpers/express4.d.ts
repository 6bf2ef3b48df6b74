/** Express 4 under its own name; what is used of it is typed alike in Express 5. */
declare module 'express4' {
  import express from 'express'
  export default express
}
