//! A real browser, started for a test and stopped with it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use thirtyfour::{error::WebDriverErrorInner, prelude::*};
use tokio::sync::{Mutex, MutexGuard};

/// One browser at a time: several would only compete for the processor.
static ONE_BROWSER: Mutex<()> = Mutex::const_new(());

/// Longer than anything takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

pub struct Browser {
    pub driver: WebDriver,
    process: Child,
    port: u16,
    _guard: MutexGuard<'static, ()>,
}

#[derive(Clone, Copy, Default)]
pub struct BrowserOptions {
    pub dark: bool,
    pub without_scripts: bool,
    pub phone: bool,
}

impl Browser {
    pub async fn start(options: BrowserOptions) -> Self {
        let guard = ONE_BROWSER.lock().await;
        let mut process = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("chromedriver is needed ({error}): apt-get install chromium chromium-driver")
            });
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port: u16 = lines
            .map_while(Result::ok)
            .find_map(|line| {
                let port = line.split("successfully on port ").nth(1)?;
                port.trim_end_matches('.').parse().ok()
            })
            .unwrap_or_else(|| panic!("chromedriver did not print its port"));
        let mut caps = DesiredCapabilities::chrome();
        let size = if options.phone {
            "420,900"
        } else {
            "1280,1180"
        };
        for arg in [
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--hide-scrollbars",
            &format!("--window-size={size}"),
            &format!(
                "--blink-settings=preferredColorScheme={}",
                u8::from(!options.dark)
            ),
        ] {
            caps.add_arg(arg).unwrap();
        }
        if options.without_scripts {
            let prefs =
                serde_json::json!({"profile.managed_default_content_settings.javascript": 2});
            caps.add_experimental_option("prefs", prefs).unwrap();
        }
        let driver = WebDriver::new(format!("http://127.0.0.1:{port}"), caps)
            .await
            .unwrap();
        Self {
            driver,
            process,
            port,
            _guard: guard,
        }
    }

    /// The first matching element, once there is one: the page may still be loading.
    async fn find(&self, css: &str) -> WebElement {
        let query = self.driver.query(By::Css(css));
        query.wait(TIMEOUT, PAUSE).first().await.unwrap()
    }

    /// The text of the first matching element. Where a click has just led to another page, an
    /// element of the old one may be found that is gone when its text is read.
    pub async fn text(&self, css: &str) -> String {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        loop {
            match self.find(css).await.text().await {
                Err(error)
                    if matches!(
                        error.as_inner(),
                        WebDriverErrorInner::StaleElementReference(_)
                    ) && tokio::time::Instant::now() < deadline => {}
                text => return text.unwrap(),
            }
        }
    }

    pub async fn count(&self, css: &str) -> usize {
        self.driver.find_all(By::Css(css)).await.unwrap().len()
    }

    /// Waits, without a script, until so many elements match.
    pub async fn until_count(&self, css: &str, expected: usize) {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        while self.count(css).await != expected {
            let is_over = tokio::time::Instant::now() > deadline;
            assert!(!is_over, "never {expected} of {css}");
            tokio::time::sleep(PAUSE).await; // sleep: polls the browser
        }
    }

    pub async fn click(&self, css: &str) {
        self.find(css).await.click().await.unwrap();
    }

    pub async fn type_into(&self, css: &str, text: &str) {
        self.find(css).await.send_keys(text).await.unwrap();
    }

    /// The result of a script in the page.
    pub async fn eval(&self, script: &str) -> serde_json::Value {
        let found = self.driver.execute(script, Vec::new()).await.unwrap();
        found.json().clone()
    }

    /// Waits until a script in the page returns true.
    pub async fn until(&self, script: &str) {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        while self.eval(script).await != true {
            let is_over = tokio::time::Instant::now() > deadline;
            assert!(
                !is_over,
                "never true: {script}\n{}",
                self.text("body").await
            );
            tokio::time::sleep(PAUSE).await; // sleep: polls the browser
        }
    }

    pub async fn quit(self) {
        self.driver.clone().quit().await.unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A driver that is killed leaves its browser running; one that is shut down stops it.
        if let Ok(mut driver) = TcpStream::connect(("127.0.0.1", self.port)) {
            let sent = driver.write_all(b"GET /shutdown HTTP/1.1\r\nhost: localhost\r\n\r\n");
            let mut response = Vec::new();
            let _answered = sent.and_then(|()| driver.read_to_end(&mut response));
        }
        let _killed = self.process.kill();
        let _reaped = self.process.wait();
    }
}
