//! A storm as a picture: calls per second with and without holding.

use std::{fmt::Write as _, time::Duration};

/// The result of one engine.
pub struct Track {
    pub name: String,
    /// Calls of each second.
    pub calls: Vec<u64>,
    pub calls_in_storm: u64,
    pub created: u64,
    pub attempts: u64,
    pub dead_letters: u64,
    /// From the end of the storm until all jobs had ended.
    pub drained_after: Duration,
}

type FigureText = fn(&Track) -> String;

/// The numbers shown for each.
pub const FIGURES: [(&str, FigureText); 5] = [
    ("jobs", |track| track.created.to_string()),
    ("calls to the target while it was down", |track| {
        track.calls_in_storm.to_string()
    }),
    ("total attempts", |track| track.attempts.to_string()),
    ("dead letters", |track| track.dead_letters.to_string()),
    ("seconds until the backlog was drained", |track| {
        format!("{:.1}", track.drained_after.as_secs_f64())
    }),
];

const WIDTH: u64 = 720; // not a limit: the shape of the picture
const CHART_HEIGHT: u64 = 150; // not a limit: the shape of the picture
const LEFT: u64 = 50; // not a limit: the shape of the picture
const COLORS: [&str; 2] = ["#c2410c", "#15803d"];

pub struct Picture<'t> {
    /// In seconds from the start on.
    pub storm_begins: u64,
    pub storm_ends: u64,
    pub tracks: &'t [Track; 2],
}

impl Picture<'_> {
    pub fn to_svg(&self) -> String {
        let seconds = self.tracks.iter().map(|track| track.calls.len());
        let seconds = seconds.max().unwrap_or(1).max(1) as u64;
        let most = self.tracks.iter().flat_map(|track| &track.calls).copied();
        let most = most.max().unwrap_or(1).max(1);
        let height = 2 * (CHART_HEIGHT + 40) + 24 * FIGURES.len() as u64 + 40;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"14\">\n\
             <title>Calls per second to a target that fails for a while</title>\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        for (number, track) in (0_u64..).zip(self.tracks) {
            let top = 30 + number * (CHART_HEIGHT + 40);
            self.draw_track(&mut svg, track, number, top, (seconds, most));
        }
        let top = 2 * (CHART_HEIGHT + 40) + 30;
        for (row, (name, value)) in (0_u64..).zip(FIGURES) {
            let y = top + 24 * row;
            put(&mut svg, LEFT, y, "start", "#1f2937", name);
            for ((x, track), color) in [460, 600].into_iter().zip(self.tracks).zip(COLORS) {
                put(&mut svg, x, y, "end", color, &value(track));
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_track(
        &self,
        svg: &mut String,
        track: &Track,
        number: u64,
        top: u64,
        (seconds, most): (u64, u64),
    ) {
        let step = (WIDTH - LEFT - 10) as f64 / seconds as f64;
        let x = |second: u64| LEFT as f64 + step * second as f64;
        let bottom = top + CHART_HEIGHT;
        let color = COLORS[usize::from(number > 0)];
        let width = x(self.storm_ends) - x(self.storm_begins);
        // Writing to a text cannot fail.
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{CHART_HEIGHT}\" fill=\"#f3f4f6\"/>",
            x(self.storm_begins),
        );
        for (second, calls) in (0_u64..).zip(&track.calls) {
            let height = CHART_HEIGHT as f64 * *calls as f64 / most as f64;
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"{color}\"/>",
                x(second),
                bottom as f64 - height,
                step * 0.8,
            );
        }
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{}\" y2=\"{bottom}\" stroke=\"#9ca3af\"/>",
            WIDTH - 10
        );
        put(svg, LEFT - 6, top + 12, "end", "#6b7280", &most.to_string());
        put(svg, LEFT - 6, bottom, "end", "#6b7280", "0");
        let title = format!("hold: {}, calls per second", track.name);
        put(svg, LEFT, top - 8, "start", color, &title);
    }
}

fn put(svg: &mut String, x: u64, y: u64, anchor: &str, color: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{color}\">{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_has_a_bar_for_each_second_and_every_figure() {
        let track = |name: &str, calls: &[u64], dead_letters| Track {
            name: name.to_owned(),
            calls: calls.to_vec(),
            calls_in_storm: calls[1],
            created: 7,
            attempts: calls.iter().sum(),
            dead_letters,
            drained_after: Duration::from_millis(1_500),
        };
        let tracks = [
            track("watch", &[5, 90, 80], 33),
            track("auto", &[5, 1, 20], 0),
        ];
        let picture = Picture {
            storm_begins: 1,
            storm_ends: 2,
            tracks: &tracks,
        };
        let svg = picture.to_svg();
        // The ground, the storm of both, and the seconds.
        assert_eq!(svg.matches("<rect").count(), 1 + 2 + 6, "{svg}");
        for wanted in ["hold: watch", "hold: auto", "dead letters", ">33<", ">1.5<"] {
            assert!(svg.contains(wanted), "{wanted}: {svg}");
        }
    }
}
