// hold.js - keeps memory that native code allocates for it, under three functions that V8 compiles.
const keep = [];
function innerHold(i) { keep.push(Buffer.allocUnsafeSlow(20000 + i % 7)); return keep.length; }
function middleHold(i) { return innerHold(i) + 1; }
function outerHold() { let sum = 0; for (let i = 0; i < 5000; i++) sum += middleHold(i); return sum; }
outerHold();
console.log('ready');
setInterval(() => {}, 1000);
