// An application of node that keeps what is uploaded, as another user than who started it.
const fs = require("fs");
const http = require("http");
const os = require("os");
const path = require("path");
const [data, port] = process.argv.slice(2);

function page() {
  const lines = [];
  try {
    fs.accessSync(data, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
    const aside = fs.mkdtempSync(path.join(data, "up-"));
    fs.writeFileSync(path.join(aside, "a"), "content");
    fs.renameSync(path.join(aside, "a"), path.join(data, "kept", "a"));
    fs.rmdirSync(aside);
    fs.copyFileSync(path.join(data, "kept", "a"), path.join(os.tmpdir(), `up-${process.pid}`));
    fs.unlinkSync(path.join(os.tmpdir(), `up-${process.pid}`));
    fs.appendFileSync(path.join(data, "uploads.log"), "kept\n");
    // The folder of thumbnails is exchanged as a whole.
    fs.renameSync(path.join(data, "thumbs"), path.join(data, "thumbs-old"));
    fs.renameSync(path.join(data, "thumbs-old"), path.join(data, "thumbs"));
  } catch (error) {
    return `Error: the uploads folder cannot be used: ${error.code} ${error.syscall}\n`;
  }
  const me = os.userInfo();
  lines.push(`uploads of ${me.username}, ${me.homedir}, mode ${fs.statSync(data).mode.toString(8)}`);
  lines.push(`home ${process.env.HOME} here ${process.cwd()} host ${os.hostname()}`);
  lines.push(`temp ${os.tmpdir()} user ${process.env.USER} lang ${process.env.LANG}`);
  for (let k = 0; k < 300; k += 1) lines.push(`upload ${k} ${(k * 2654435761) % 4294967296}`);
  return lines.join("\n") + "\n";
}

http.createServer((request, answer) => answer.end(page())).listen(Number(port), "127.0.0.1", () => {
  process.setgroups([]);
  process.setgid("www-data");
  process.setuid("www-data");
});
