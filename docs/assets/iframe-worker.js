// Browsers start no worker for a page that is opened as a file. The search of the theme runs in a
// worker, so such a page gets a hidden frame that loads the same script and exchanges messages.
// The theme recognises the frame by the name IFrameWorker in the window above it.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      inner.postMessage = (data) => this.receive(data);
      inner.importScripts = async (...urls) => {
        for (const each of urls) await this.load(each);
      };
      this.frame = frame;
      this.ready = this.load(url);
    }

    load(url) {
      const page = this.frame.contentDocument;
      const script = page.createElement("script");
      script.src = url;
      const done = new Promise((resolve, reject) => {
        script.onload = resolve;
        script.onerror = () => reject(new Error(`cannot load ${url}`));
      });
      page.body.append(script);
      return done;
    }

    receive(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }

    async postMessage(data) {
      await this.ready;
      const inner = this.frame.contentWindow;
      inner.dispatchEvent(new inner.MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
