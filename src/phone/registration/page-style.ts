/** How hosted pages look: one style for all, that loads nothing, on a phone and on a desk. */
export const PAGE_STYLE = `
:root{color-scheme:light;--ink:#18212b;--soft:#4d5a68;--line:#d5dce4;--edge:#6d7986;--mark:#0a56a3;--deep:#083f78;
--paper:#fff;--ground:#f2f5f8;--wash:#eef4fb}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;min-height:100vh;display:flex;flex-direction:column;background:var(--ground);color:var(--ink);
font:1.0625rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;overflow-wrap:anywhere}
.preview{background:#fff1c9;color:#4a3600;padding:.7rem 1.25rem;text-align:center;font-size:.9375rem}
header{background:var(--paper);border-bottom:1px solid var(--line)}
.row{max-width:44rem;margin:0 auto;padding:0 1.25rem;display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;
align-items:center;justify-content:space-between}
.brand{font-weight:700;font-size:1.125rem;margin:0;padding:.9rem 0}
nav{display:flex;flex-wrap:wrap;gap:0 1.25rem;margin-bottom:-1px}
nav a{padding:.9rem 0;color:var(--soft);text-decoration:none;border-bottom:3px solid transparent}
nav a:hover{color:var(--ink)}
nav a[aria-current]{color:var(--ink);font-weight:600;border-color:var(--mark)}
main{width:100%;max-width:44rem;margin:0 auto;padding:2.25rem 1.25rem 3rem;flex:1}
h1{font-size:clamp(1.6rem,1.3rem + 1.6vw,2.15rem);line-height:1.2;letter-spacing:-.015em;margin:0 0 .75rem;text-wrap:balance}
h2{font-size:1.15rem;line-height:1.35;margin:1.75rem 0 .3rem}
p{margin:0 0 1rem}
a{color:var(--mark)}a:hover{color:var(--deep)}
.whole{white-space:nowrap}
.lead{font-size:1.125rem;color:var(--soft)}
.card{background:var(--paper);border:1px solid var(--line);border-radius:.75rem;padding:1.5rem;margin:1.5rem 0;
box-shadow:0 1px 2px rgb(24 33 43/.05),0 8px 24px rgb(24 33 43/.05)}
.card>:last-child{margin-bottom:0}
.text>:first-child{margin-top:0}
.field{display:block;margin:0 0 1.25rem}
.field label{display:block;font-weight:600}
.hint{display:block;color:var(--soft);font-size:.9375rem;font-weight:400}
.field input{display:block;width:100%;margin-top:.35rem;padding:.7rem .85rem;min-height:3rem;font:inherit;
color:inherit;background:var(--paper);border:1px solid var(--edge);border-radius:.5rem}
fieldset{border:0;margin:0;padding:0;min-width:0}
legend{font-weight:600;padding:0;margin-bottom:.5rem}
.box{display:flex;gap:.85rem;align-items:flex-start;padding:1rem;margin:0 0 .75rem;border:1px solid var(--line);
border-radius:.5rem;cursor:pointer}
.box:hover{border-color:var(--edge)}
.box:has(input:checked){border-color:var(--mark);background:var(--wash)}
.box input{width:1.4rem;height:1.4rem;margin:.15rem 0 0;flex:none;accent-color:var(--mark)}
.box b{display:block;font-weight:600;line-height:1.45}
.box small{display:block;margin-top:.35rem;color:var(--soft);font-size:.9375rem;line-height:1.5}
button{display:block;width:100%;margin-top:1.25rem;padding:.85rem 1.5rem;min-height:3.1rem;font:inherit;font-weight:600;
color:#fff;background:var(--mark);border:0;border-radius:.5rem;cursor:pointer}
button:hover{background:var(--deep)}
:focus-visible{outline:3px solid #f0a500;outline-offset:2px;border-radius:.25rem}
.fault{color:#8f1218;background:#fdeeee;border:1px solid #e7b3b5;border-radius:.5rem;padding:.75rem 1rem;font-weight:600}
[aria-invalid=true]{border:2px solid #b3261e!important}
footer{background:var(--paper);border-top:1px solid var(--line);color:var(--soft);font-size:.9375rem}
footer p{margin:0;padding:1.1rem 0}
.away{position:absolute;left:-100rem}
@media(max-width:26rem){.brand{padding-bottom:0}nav a{padding:.6rem 0 .7rem}}
@media(min-width:40rem){.card{padding:2rem}button{width:auto;min-width:14rem}}
@media print{header nav,button{display:none}.card{box-shadow:none}}`
